// parser: src/codec/decode/bmp/*
#include "decode_both_ways.h"
#include "memory_meter.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const tundish::Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  if (tundish::sniff(bytes) != tundish::Codec::bmp) return 0;
  const tundish::MemoryMeter meter(tundish::decode_promise(bytes));
  tundish::decode_both_ways(bytes);
  tundish::decode_both_ways(bytes, true);
  return 0;
}
