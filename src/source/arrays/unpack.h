// A compressed file as bytes in memory, for small formats that are often kept so (.gz).
#pragma once

#include <string>

#include "source/arrays/byte_store.h"

namespace tundish {

// The file itself, or what it holds when it is compressed, at most `left` bytes, which become less.
// Throws Error: format_unsupported when it is more; compression_damaged.
SharedStore open_unpacked(const std::string& path, const char* format, std::uint64_t& left);

}  // namespace tundish
