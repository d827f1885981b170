// parser: src/codec/decode/jpeg* src/codec/decode/orientation/exif.*
#include "decode_both_ways.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const tundish::Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  if (tundish::sniff(bytes) == tundish::Codec::jpeg) tundish::decode_both_ways(bytes);
  return 0;
}
