// Streaming decompression with bounded memory. Files made of several concatenated compressed
// parts are read as one, as gzip, xz, zstd and bzip2 do themselves.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "data/source/byte_stream.h"

namespace tundish {

enum class Compression : std::uint8_t { none, gzip, xz, zstd, bzip2 };

const char* compression_name(Compression compression);

// By the first bytes; six are enough.
Compression sniff_compression(Bytes first);

// What `in` holds, decompressed; keeps a reference to it. `path` is for messages. Reading throws
// Error(compression_damaged) with the offset in the compressed bytes when they are damaged, end
// early, or need more memory than 256 MiB to decompress; and Error(interrupted).
std::unique_ptr<ByteStream> decompress(ByteStream& in, Compression compression, std::string path);

}  // namespace tundish
