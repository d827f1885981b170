// parser: src/codec/decode/png*
#include <zlib.h>

#include "decode_both_ways.h"

namespace {

std::uint32_t big_endian(const std::byte* from) {
  return __builtin_bswap32(tundish::load<std::uint32_t>(from));
}

// Writes the correct checksum of every chunk, so that a changed byte reaches the code behind
// the check.
void repair_checksums(std::vector<std::byte>& png) {
  for (std::size_t at = 8; png.size() - at >= 12;) {
    const std::size_t length = big_endian(&png[at]);
    if (length > png.size() - at - 12) return;
    const auto* type = reinterpret_cast<const unsigned char*>(&png[at + 4]);
    const auto sum = static_cast<std::uint32_t>(crc32(0, type, static_cast<unsigned>(length + 4)));
    tundish::store(&png[at + 8 + length], __builtin_bswap32(sum));
    at += length + 12;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const tundish::Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  if (tundish::sniff(bytes) != tundish::Codec::png) return 0;
  tundish::decode_both_ways(bytes);
  std::vector<std::byte> repaired(bytes.begin(), bytes.end());
  repair_checksums(repaired);
  tundish::decode_both_ways(repaired);
  tundish::decode_both_ways(repaired, true);
  return 0;
}
