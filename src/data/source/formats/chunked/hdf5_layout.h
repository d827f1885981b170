// Storage of one HDF5 dataset, read from its object header without libhdf5: the kind of storage
// and the place of the chunk index.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "data/source/formats/chunked/hdf5_blocks.h"

namespace tundish {

enum class Hdf5Storage : std::uint8_t { compact, contiguous, chunked, virtual_sources };

enum class Hdf5IndexKind : std::uint8_t {
  btree_1,
  single_chunk,
  implicit,
  fixed_array,
  extensible_array,
  btree_2,
};

struct Hdf5Layout {
  Hdf5Storage storage = Hdf5Storage::contiguous;
  bool has_external_files = false;      // values are in other files
  std::uint64_t offset = kHdf5Nowhere;  // offset of the values, or of the chunk index
  std::uint64_t bytes = 0;              // size of compact values
  // Chunked storage only:
  Hdf5IndexKind index = Hdf5IndexKind::btree_1;
  std::vector<std::uint64_t> chunk = {};  // sides of a chunk, per axis
  std::uint64_t element_bytes = 0;
  bool edges_unfiltered = false;   // chunks over the edge have no filters
  std::uint64_t single_bytes = 0;  // single chunk with filters; otherwise 0
  std::uint32_t single_mask = 0;
};

// `header`: address of the object header. Accepts any bytes.
std::optional<Fault> read_hdf5_layout(Hdf5Layout& out, Hdf5Blocks& blocks, std::uint64_t header);

}  // namespace tundish
