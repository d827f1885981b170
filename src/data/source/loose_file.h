// Reads one file of a folder or list, or part of a file, as one sample.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"

namespace tundish {

// Reads the whole file into `out`, reusing its memory. `size` is the size when the source was
// opened, 0 if unknown. Throws SampleError at `where`: missing, unreadable, not a regular file,
// empty, larger than Limits::max_bytes, or changed in size.
void read_loose_file(std::vector<std::byte>& out, const std::string& path, std::uint64_t size,
                     const Where& where);

// Reads `bytes` bytes of a file from `offset` on. Throws SampleError at `where`: missing,
// unreadable, not a regular file, larger than Limits::max_bytes, or the file ends before.
void read_file_part(std::vector<std::byte>& out, const std::string& path, std::uint64_t offset,
                    std::uint64_t bytes, const Where& where);

}  // namespace tundish
