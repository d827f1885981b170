// What a writer did to a chunk, step by step, undone: decompressors, shuffles, checksums.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/source/chunks/decompress_chunk.h"

namespace tundish {

enum class ChunkCodec : std::uint8_t {
  gzip,  // and zlib
  zstd,
  xz,
  bzip2,
  lzf,
  lz4_sized,
  lz4_n5,
  lz4_hdf5,
  blosc,
  shuffle,        // of bytes
  swap_bytes,     // big-endian elements
  fletcher32,     // HDF5's: a checksum behind the data
  crc32c_at_end,  // Zarr's: the same
};
inline constexpr std::size_t kChunkCodecs = 13;

struct ChunkStep {
  ChunkCodec codec;
  std::uint32_t element = 1;  // bytes of an element, for shuffle and swap_bytes; not 0
  bool operator==(const ChunkStep&) const = default;
};
inline constexpr std::size_t kMaxChunkSteps = 32;

// `steps` in the order of writing. `out.size()` is the size of the chunk before the first step.
// Takes at most twice the chunk's size in memory besides.
std::optional<Fault> undo_steps(ByteSpan out, Bytes stored, std::span<const ChunkStep> steps);

// HDF5's checksum: over big-endian words of 16 bits.
std::uint32_t fletcher32(Bytes bytes);

}  // namespace tundish
