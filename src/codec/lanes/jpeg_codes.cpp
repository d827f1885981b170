#include "codec/lanes/jpeg_codes.h"

#include <algorithm>

namespace tundish::lanes {
namespace {

constexpr std::size_t kCountBytes = 17;  // class and number, then one count per code length

std::uint32_t u8(Bytes bytes, std::size_t at) { return std::to_integer<std::uint32_t>(bytes[at]); }

// Codes of one length are consecutive; the first code of the next length is twice the next code.
bool make_codes(Codes& out, Bytes counts, Bytes symbols) {
  out = {};
  std::uint32_t code = 0;
  std::size_t next = 0;
  for (std::uint32_t length = 1; length <= 16; ++length) {
    for (std::uint32_t i = u8(counts, length - 1); i > 0; --i) {
      if (code >> length != 0) return false;
      const std::uint32_t symbol = u8(symbols, next++);
      out.entry[(symbol & 15) << 4 | symbol >> 4] = code++ << 8 | length;
    }
    code <<= 1;
  }
  return true;
}

}  // namespace

Codes::Codes() { std::fill(std::begin(entry), std::end(entry), kMissingCode); }

SmallCodes::SmallCodes(const Codes& codes) {
  for (int value = -kEnd; value < kEnd; ++value) {
    const auto [bits, size] = value_bits(value);
    for (int run = 0; run < 16; ++run) {
      const std::uint32_t code = codes.of(run, size);
      entry[run][value + kEnd] =
          code & kMissingCode
              ? kMissingCode
              : (code >> 8 << size | bits) << 8 | ((code & 255) + static_cast<std::uint32_t>(size));
    }
  }
}

bool read_codes(CodeTables& out, Bytes body) {
  while (!body.empty()) {
    if (body.size() < kCountBytes) return false;
    const std::uint32_t which = u8(body, 0);
    if ((which & 15) > 3 || which >> 4 > 1) return false;
    const Bytes counts = body.subspan(1, kCountBytes - 1);
    std::size_t symbols = 0;
    for (const std::byte count : counts) symbols += std::to_integer<std::size_t>(count);
    if (symbols > 256 || body.size() - kCountBytes < symbols) return false;
    Codes& codes = (which >> 4 == 0 ? out.dc : out.ac)[which & 15];
    if (!make_codes(codes, counts, body.subspan(kCountBytes, symbols))) return false;
    body = body.subspan(kCountBytes + symbols);
  }
  return true;
}

}  // namespace tundish::lanes
