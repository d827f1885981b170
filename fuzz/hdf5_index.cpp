// Any bytes as the description of an HDF5 file: arrays with chunks within the file, or a fault.
// parser: src/data/source/formats/chunked/hdf5_index.*
#include "data/source/formats/chunked/hdf5_index.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tundish;
  constexpr std::uint64_t kFile = 10'000;
  const Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  Hdf5Description found;
  if (read_hdf5_index(found, bytes, kFile)) return 0;
  for (const Hdf5Array& array : found.arrays) {
    if (check_grid(array.grid)) std::abort();
    for (const Hdf5Chunk& chunk : array.chunks) {
      if (chunk.bytes > kFile || chunk.offset > kFile - chunk.bytes) std::abort();
      std::vector<ChunkStep> steps;
      hdf5_steps(steps, array, chunk.mask);
    }
  }
  Hdf5Description again;
  if (read_hdf5_index(again, write_hdf5_index(found), kFile)) std::abort();
  return 0;
}
