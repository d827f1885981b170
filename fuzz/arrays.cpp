// Any bytes as a .npy, IDX or CIFAR file: samples within the file, or a fault.
// parser: src/data/source/arrays/npy_layout.* src/data/source/arrays/stored_array.*
// parser: src/data/source/formats/cifar.* src/data/source/formats/idx.*
#include "array_samples.h"
#include "data/source/arrays/npy_layout.h"
#include "data/source/formats/cifar.h"
#include "data/source/formats/idx.h"
#include "memory_meter.h"

namespace {

using namespace tundish;

void try_layout(const ArrayLayout& layout, const SharedStore& store, std::size_t data) {
  for (const std::int64_t axis : {0, -1}) {
    ArraySet set{.path = "fuzz", .format = "fuzz", .provenance = "fuzz"};
    set.memory_left = 1 << 20;
    StoredArray array{.name = "image"};
    if (place_array(array, "fuzz", layout, store, data, axis)) continue;
    set.arrays.push_back(std::move(array));
    read_some(std::move(set));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const MemoryMeter meter(16 * size + (32 << 20));
  const SharedStore store = store_of(data, size);
  const Bytes bytes = store->memory();
  ArrayLayout layout;
  std::size_t begin = 0;
  if (!read_npy_layout(layout, begin, bytes)) try_layout(layout, store, begin);
  layout = {};
  if (!read_idx_layout(layout, begin, bytes)) try_layout(layout, store, begin);
  for (const bool hundred : {false, true}) {
    ArraySet set{.path = "fuzz", .format = "fuzz", .provenance = "fuzz"};
    if (!read_cifar(set.arrays, store, hundred)) read_some(std::move(set));
  }
  return 0;
}
