// Decompressors of one chunk. `out` has exactly the size of the chunk; input that decompresses to
// fewer or more bytes is damaged. Any input either fills `out` or yields a Fault (source_damaged or
// format_unsupported) whose offset counts in `in`. Stateless; any thread.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "base/bytes.h"
#include "base/error.h"

namespace tundish {

using ByteSpan = std::span<std::byte>;

std::optional<Fault> copy_chunk(ByteSpan out, Bytes in);       // uncompressed
std::optional<Fault> decompress_gzip(ByteSpan out, Bytes in);  // gzip or zlib, by the first bytes
std::optional<Fault> decompress_gzip_reference(ByteSpan out, Bytes in);  // zlib alone
std::optional<Fault> decompress_zstd(ByteSpan out, Bytes in);            // one or more frames
std::optional<Fault> decompress_xz(ByteSpan out, Bytes in);              // .xz or .lzma
std::optional<Fault> decompress_bzip2(ByteSpan out, Bytes in);
std::optional<Fault> decompress_lzf(ByteSpan out, Bytes in);  // h5py's filter

// Shared by the decompressors in this folder.
Fault chunk_damaged(std::string reason, std::uint64_t offset);
Fault chunk_unsupported(std::string reason, std::uint64_t offset);
Fault chunk_size_differs(const char* codec, std::uint64_t found, std::uint64_t wanted);

}  // namespace tundish
