// One file of a folder or of a list, or a part of a file, read as one sample.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"

namespace tundish {

// The whole file into `out`, whose memory is reused. `size` is what it had when the source was
// opened, 0 where that is not known. Throws SampleError at `where`: missing, unreadable, no
// regular file, empty, larger than Limits::max_bytes, or of another size than before.
void read_loose_file(std::vector<std::byte>& out, const std::string& path, std::uint64_t size,
                     const Where& where);

// So many bytes of a file from `offset` on. Throws SampleError at `where`: missing, unreadable, no
// regular file, larger than Limits::max_bytes, or the file ends before.
void read_file_part(std::vector<std::byte>& out, const std::string& path, std::uint64_t offset,
                    std::uint64_t bytes, const Where& where);

}  // namespace tundish
