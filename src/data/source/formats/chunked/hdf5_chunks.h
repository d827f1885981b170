// The chunks of one data set of an HDF5 file, from its chunk index: one pass over the index, whose
// cost is bounded by the bytes that it has in the file. libhdf5 1.10 passes over the whole index
// for every chunk it is asked for. `tundish read-hdf5-structure FILE compare` compares both.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "data/source/formats/chunked/hdf5_blocks.h"
#include "data/source/formats/chunked/hdf5_index.h"
#include "data/source/formats/chunked/hdf5_layout.h"

namespace tundish {

struct Hdf5Extent {
  std::vector<std::uint64_t> shape = {};
  std::vector<std::uint64_t> max_shape = {};  // kHdf5Nowhere: unlimited
};

// Sorted by number; no chunk has 0 bytes or lies outside the shape. `layout` is chunked. Any bytes.
std::optional<Fault> read_hdf5_chunks(std::vector<Hdf5Chunk>& out, Hdf5Blocks& blocks,
                                      const Hdf5Layout& layout, const Hdf5Extent& extent);

// Marks the chunks that have no filters because they reach over the edge.
void mark_unfiltered_edges(std::vector<Hdf5Chunk>& chunks, const Hdf5Layout& layout,
                           const Hdf5Extent& extent);

}  // namespace tundish
