// How one data set of an HDF5 file is stored, read from its object header without libhdf5: which
// kind of storage, and where the chunk index is.
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
  bool has_external_files = false;      // the values are in other files
  std::uint64_t offset = kHdf5Nowhere;  // of the values, or of the chunk index
  std::uint64_t bytes = 0;              // of compact values
  // Chunked storage only:
  Hdf5IndexKind index = Hdf5IndexKind::btree_1;
  std::vector<std::uint64_t> chunk = {};  // sides of a chunk, one per axis
  std::uint64_t element_bytes = 0;
  bool edges_unfiltered = false;   // chunks that reach over the edge have no filters
  std::uint64_t single_bytes = 0;  // of a single chunk with filters; otherwise 0
  std::uint32_t single_mask = 0;
};

// `header` is the address of the object header. Any bytes.
std::optional<Fault> read_hdf5_layout(Hdf5Layout& out, Hdf5Blocks& blocks, std::uint64_t header);

}  // namespace tundish
