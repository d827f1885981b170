// Blosc 1 containers: blocks of blosclz, lz4, zlib or zstd, with byte or bit shuffle. The container
// is parsed here, with a check of every offset; libraries only decompress single blocks.
// Contract: data/source/chunks/decompress_chunk.h.
#pragma once

#include "data/source/chunks/decompress_chunk.h"

namespace tundish {

std::optional<Fault> decompress_blosc(ByteSpan out, Bytes in);

// Decompresses Blosc's own codec, a relative of FastLZ.
std::optional<Fault> decompress_blosclz(ByteSpan out, Bytes in);

}  // namespace tundish
