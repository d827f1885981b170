// Blosc 1 containers: blocks of blosclz, lz4, zlib or zstd, with byte or bit shuffle. The container
// is read by own code, which checks every offset; only single blocks go to the libraries.
// Contract: data/source/chunks/decompress_chunk.h.
#pragma once

#include "data/source/chunks/decompress_chunk.h"

namespace tundish {

std::optional<Fault> decompress_blosc(ByteSpan out, Bytes in);

// Blosc's own codec, a kin of FastLZ.
std::optional<Fault> decompress_blosclz(ByteSpan out, Bytes in);

}  // namespace tundish
