// Undoes the encoding steps of a chunk: compression, shuffles, checksums.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/source/chunks/decompress_chunk.h"

namespace tundish {

enum class ChunkCodec : std::uint8_t {
  gzip,  // also zlib
  zstd,
  xz,
  bzip2,
  lzf,
  lz4_sized,
  lz4_n5,
  lz4_hdf5,
  blosc,
  shuffle,        // byte shuffle
  swap_bytes,     // big-endian elements
  fletcher32,     // HDF5: a checksum behind the data
  crc32c_at_end,  // Zarr: a checksum behind the data
};
inline constexpr std::size_t kChunkCodecs = 13;

struct ChunkStep {
  ChunkCodec codec;
  std::uint32_t element = 1;  // bytes per element, for shuffle and swap_bytes; not 0
  bool operator==(const ChunkStep&) const = default;
};
inline constexpr std::size_t kMaxChunkSteps = 32;

// `steps` are in writing order. `out.size()` is the size of the chunk before the first step.
// Allocates at most twice the chunk's size.
std::optional<Fault> undo_steps(ByteSpan out, Bytes stored, std::span<const ChunkStep> steps);

// Returns HDF5's checksum over big-endian 16-bit words.
std::uint32_t fletcher32(Bytes bytes);

}  // namespace tundish
