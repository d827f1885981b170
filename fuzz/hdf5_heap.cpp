// Any bytes as a file with a heap, the first 16 as a reference: a place in the file, or a fault.
// parser: src/data/source/formats/chunked/hdf5_heap.*
#include "data/source/formats/chunked/hdf5_heap.h"

#include <cstdlib>
#include <cstring>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tundish;
  if (size < kHdf5ReferenceBytes) return 0;
  const auto reference = load_hdf5_reference(reinterpret_cast<const std::byte*>(data));
  std::uint64_t offset = 0;
  const auto fault = find_heap_object(offset, reference, size, [&](ByteSpan out, std::uint64_t at) {
    if (at > size || size - at < out.size()) return false;
    std::memcpy(out.data(), data + at, out.size());
    return true;
  });
  if (!fault && (offset > size || size - offset < reference.bytes)) std::abort();
  return 0;
}
