// Reads the chunks of one HDF5 dataset from its chunk index in one pass, whose cost is bounded by
// the size of the index in the file. libhdf5 1.10 walks over the whole index for every requested
// chunk. `tundish read-hdf5-structure FILE compare` compares both.
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

// Returns chunks sorted by number, none empty or outside the shape. Requires a chunked `layout`.
// Accepts any bytes.
std::optional<Fault> read_hdf5_chunks(std::vector<Hdf5Chunk>& out, Hdf5Blocks& blocks,
                                      const Hdf5Layout& layout, const Hdf5Extent& extent);

// Marks the chunks without filters because they extend over the edge.
void mark_unfiltered_edges(std::vector<Hdf5Chunk>& chunks, const Hdf5Layout& layout,
                           const Hdf5Extent& extent);

}  // namespace tundish
