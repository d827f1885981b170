// The four layouts of LZ4 blocks in chunks: numcodecs (Zarr), LZ4BlockOutputStream (N5 of Java), a
// bare block (N5 of z5), HDF5's filter 32004. Contract:
// data/source/chunks/decompress_chunk.h.
#pragma once

#include "data/source/chunks/decompress_chunk.h"

namespace tundish {

std::optional<Fault> decompress_lz4_block(ByteSpan out, Bytes in);   // a bare block
std::optional<Fault> decompress_lz4_sized(ByteSpan out, Bytes in);   // size (32 bits), block
std::optional<Fault> decompress_lz4_stream(ByteSpan out, Bytes in);  // "LZ4Block" parts
std::optional<Fault> decompress_lz4_n5(ByteSpan out, Bytes in);      // any of these three
std::optional<Fault> decompress_lz4_hdf5(ByteSpan out, Bytes in);    // size, block size, blocks

}  // namespace tundish
