// Any bytes as a .safetensors file: samples within the file, or an error.
// parser: src/data/source/formats/safetensors*
#include "data/source/formats/safetensors.h"

#include "array_samples.h"
#include "memory_meter.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tundish;
  const MemoryMeter meter(256 * size + (32 << 20));
  ArraySet set{.path = "fuzz", .format = "fuzz", .provenance = "fuzz"};
  set.memory_left = 1 << 20;
  try {
    read_safetensors(set, store_of(data, size), 0);
  } catch (const Error& error) {
    require(find_error(error.code()) != nullptr && error.code() != ErrorCode::source_changed);
    return 0;
  }
  read_some(std::move(set));
  return 0;
}
