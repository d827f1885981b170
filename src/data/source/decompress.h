// Streaming decompression with bounded memory. A file of several concatenated compressed
// parts is read as one, as the gzip, xz, zstd and bzip2 programs do.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "data/source/byte_stream.h"

namespace tundish {

enum class Compression : std::uint8_t { none, gzip, xz, zstd, bzip2 };

const char* compression_name(Compression compression);

// Detects the compression from the first bytes; six suffice.
Compression sniff_compression(Bytes first);

// Returns the decompressed bytes of `in`, and keeps a reference to `in`. `path` is for messages.
// Reading throws Error(interrupted), and Error(compression_damaged) with the offset in the
// compressed bytes if they are damaged, end early, or need more than 256 MiB of memory.
std::unique_ptr<ByteStream> decompress(ByteStream& in, Compression compression, std::string path);

}  // namespace tundish
