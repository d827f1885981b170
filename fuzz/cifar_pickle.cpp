// Any bytes as a batch of CIFAR's Python version: samples within the file, or an error.
// parser: src/data/source/formats/cifar_pickle.* src/data/source/pickle/*
#include "data/source/formats/cifar_pickle.h"

#include "array_samples.h"
#include "memory_meter.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tundish;
  const MemoryMeter meter(1024 * size + (8 << 20));
  const SharedStore store = store_of(data, size);
  ArraySet set{.path = "fuzz", .format = "fuzz", .provenance = "fuzz"};
  set.memory_left = 1 << 20;
  try {
    add_cifar_batch(set, store->memory(), store);
    const std::size_t arrays = set.arrays.size();
    const std::uint64_t count = set.arrays[0].count;
    require(arrays >= 1 && arrays <= 4 && *array_bytes(set.arrays[0].type) == 3072);
    for (const StoredArray& array : set.arrays) require(array.count == count);
    add_cifar_batch(set, store->memory(), store);  // as the second batch of the dataset
    require(set.arrays.size() == arrays && set.arrays[0].count == 2 * count);
  } catch (const Error& error) {
    require(error.code() == ErrorCode::source_damaged ||
            error.code() == ErrorCode::format_unsupported);
    return 0;
  }
  read_some(std::move(set));
  return 0;
}
