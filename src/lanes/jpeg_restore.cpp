#include "lanes/jpeg_restore.h"

#include <algorithm>

namespace tundish::lanes {
namespace {

constexpr std::uint8_t kPaddingFlag = 1 << kMaxComponents;
constexpr std::size_t kLeastEdgeBytes = 2;

void put_u8(std::vector<std::byte>& out, std::uint8_t value) { out.push_back(std::byte{value}); }

void put_varint(std::vector<std::byte>& out, std::uint32_t value) {
  for (; value >= 0x80; value >>= 7) put_u8(out, static_cast<std::uint8_t>(value | 0x80));
  put_u8(out, static_cast<std::uint8_t>(value));
}

void put_signed(std::vector<std::byte>& out, int value) {
  put_varint(out, static_cast<std::uint32_t>(value) << 1 ^ static_cast<std::uint32_t>(value >> 31));
}

void put_edge(std::vector<std::byte>& out, const Block& block) {
  put_signed(out, block[0]);
  const auto values = 64 - std::count(block.begin(), block.end(), 0) - (block[0] != 0 ? 1 : 0);
  put_u8(out, static_cast<std::uint8_t>(values));
  for (std::uint8_t place = 1; place < 64; ++place) {
    const int value = block[kZigzag[place]];
    if (value == 0) continue;
    put_u8(out, place);
    put_signed(out, value);
  }
}

// Takes bytes from the front; after the end, or a number too long, `bad` is set and zeros follow.
struct Taker {
  Bytes bytes;
  bool bad = false;

  std::uint8_t u8() {
    if (bytes.empty()) {
      bad = true;
      return 0;
    }
    const auto value = std::to_integer<std::uint8_t>(bytes[0]);
    bytes = bytes.subspan(1);
    return value;
  }

  std::uint32_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 35; shift += 7) {
      const std::uint8_t byte = u8();
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) {
        bad |= value > UINT32_MAX;
        return static_cast<std::uint32_t>(value);
      }
    }
    bad = true;
    return 0;
  }

  std::int16_t small() {  // signed, of 16 bits
    const std::uint32_t folded = varint();
    bad |= folded > 0xffff;
    return static_cast<std::int16_t>(folded >> 1 ^ (0u - (folded & 1)));
  }
};

void take_padding(Padding& out, Taker& taker) {
  out.usual = taker.u8();
  const std::uint32_t count = taker.varint();
  std::uint64_t interval = 0;
  for (std::uint32_t i = 0; i < count && !taker.bad; ++i) {
    interval += taker.varint();
    out.odd.push_back({interval++, taker.u8()});
  }
}

void take_edges(std::vector<Block>& out, Taker& taker) {
  const std::uint32_t count = taker.varint();
  taker.bad |= count > taker.bytes.size() / kLeastEdgeBytes;
  if (taker.bad) return;
  out.resize(count);
  for (Block& block : out) {
    block = {};
    block[0] = taker.small();
    for (int values = taker.u8(); values > 0 && !taker.bad; --values) {
      const std::uint8_t place = taker.u8();
      taker.bad |= place < 1 || place > 63;
      block[kZigzag[place & 63]] = taker.small();
    }
    if (taker.bad) return;
  }
}

}  // namespace

Padding make_padding(const std::vector<std::uint8_t>& last_bytes) {
  const auto is_odd = [](std::uint8_t byte) { return byte % 2 != 0; };
  const auto ones = std::count_if(last_bytes.begin(), last_bytes.end(), is_odd);
  if (last_bytes.size() == 1 && ones == 0) return {.usual = last_bytes[0], .odd = {}};
  Padding out;
  // Where no bit of padding was needed the low bit is data, and 0 in half of the cases.
  if (2 * ones < std::ssize(last_bytes)) out.usual = 0;
  for (std::size_t i = 0; i < last_bytes.size(); ++i) {
    if (is_odd(last_bytes[i]) != is_odd(out.usual)) out.odd.push_back({i, last_bytes[i]});
  }
  return out;
}

void write_restore(std::vector<std::byte>& out, const Restore& restore) {
  const bool padded = restore.padding.usual != 0xff || !restore.padding.odd.empty();
  int flags = padded ? kPaddingFlag : 0;
  for (int c = 0; c < kMaxComponents; ++c) {
    if (!restore.edges[c].empty()) flags |= 1 << c;
  }
  put_u8(out, static_cast<std::uint8_t>(flags));
  if (padded) {
    put_u8(out, restore.padding.usual);
    put_varint(out, static_cast<std::uint32_t>(restore.padding.odd.size()));
    std::uint64_t next = 0;
    for (const OddPadding& odd : restore.padding.odd) {
      put_varint(out, static_cast<std::uint32_t>(odd.interval - next));
      put_u8(out, odd.bits);
      next = odd.interval + 1;
    }
  }
  for (const std::vector<Block>& edges : restore.edges) {
    if (edges.empty()) continue;
    put_varint(out, static_cast<std::uint32_t>(edges.size()));
    for (const Block& block : edges) put_edge(out, block);
  }
}

std::optional<Fault> read_restore(Restore& out, Bytes bytes) {
  out = {};
  Taker taker{bytes};
  const std::uint8_t flags = taker.u8();
  taker.bad |= flags >= 2 * kPaddingFlag;
  if (flags & kPaddingFlag) take_padding(out.padding, taker);
  for (int c = 0; c < kMaxComponents; ++c) {
    if (flags >> c & 1) take_edges(out.edges[c], taker);
  }
  if (taker.bad) {
    return Fault{ErrorCode::image_damaged, "the restore data are damaged",
                 bytes.size() - taker.bytes.size()};
  }
  out.literal = taker.bytes;
  return std::nullopt;
}

}  // namespace tundish::lanes
