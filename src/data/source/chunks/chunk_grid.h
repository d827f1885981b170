// Geometry of an array cut into chunks of one shape: finds the chunks of each sample. Accesses no
// files. Axes are the axes of a C-ordered array as Python shows it, slowest first.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/array_type.h"
#include "data/source/chunks/decompress_chunk.h"

namespace tundish {

struct ChunkGrid {
  ArrayElement element = ArrayElement::uint8;
  std::vector<std::uint64_t> shape = {};
  std::vector<std::uint64_t> chunk = {};  // shape of a chunk; no side is 0
  std::vector<std::size_t> stored_axes =
      {};                            // axes inside a chunk, slowest first; empty: 0, 1, 2, ...
  std::vector<std::byte> fill = {};  // one element for missing chunks, little-endian
};

inline constexpr std::uint64_t kMaxGridSamples = 50'000'000;
inline constexpr std::uint64_t kMaxChunksPerSample = 1 << 20;

// Checks that sizes agree and fit: sides, chunks over Limits::max_bytes, products over 64 bits.
// Must be called before all functions below.
std::optional<Fault> check_grid(const ChunkGrid& grid);

std::uint64_t chunk_bytes(const ChunkGrid& grid);  // size of a chunk that is not truncated

// Returns the number of chunks along every axis.
std::vector<std::uint64_t> chunk_counts(const ChunkGrid& grid);

// Gets type and shape of one sample: the array without this axis. Faults: no such axis, too many
// samples, a sample that is too large or spread over too many chunks.
std::optional<Fault> sample_type(ArrayType& out, const ChunkGrid& grid, std::size_t axis);

// Elements of one chunk, little-endian. Its shape is grid.chunk, or smaller if truncated at the
// array's edge (N5). A chunk without bytes is missing.
struct Chunk {
  std::vector<std::byte> bytes;
  std::vector<std::uint64_t> shape;
};

// Copies the part of sample i in the chunk at chunk coordinates `at` to `out`, the whole sample.
// Elements in no chunk get the fill value.
void copy_part(ByteSpan out, const ChunkGrid& grid, std::size_t axis, std::uint64_t i,
               std::span<const std::uint64_t> at, const Chunk& chunk);
void copy_part_reference(ByteSpan out, const ChunkGrid& grid, std::size_t axis, std::uint64_t i,
                         std::span<const std::uint64_t> at, const Chunk& chunk);

// Calls visit(at) for every chunk with a part of sample i, in C order.
template <class Visit>
void for_each_chunk(const ChunkGrid& grid, std::size_t axis, std::uint64_t i, Visit&& visit) {
  const std::vector<std::uint64_t> counts = chunk_counts(grid);
  std::vector<std::uint64_t> at(counts.size(), 0);
  at[axis] = i / grid.chunk[axis];
  for (;;) {
    visit(std::span<const std::uint64_t>(at));
    std::size_t side = at.size();
    while (side > 0 && (side - 1 == axis || at[side - 1] + 1 == counts[side - 1])) {
      --side;
      if (side != axis) at[side] = 0;
    }
    if (side == 0) return;
    ++at[side - 1];
  }
}

}  // namespace tundish
