// Unpacks a compressed file into memory, for small formats that are often compressed (.gz).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "data/source/arrays/byte_store.h"

namespace tundish {

// Returns the size of an unpacked file from its first bytes; empty if they do not contain it.
using DeclaredBytes = std::function<std::optional<std::uint64_t>(Bytes first)>;

// Returns the file, or its unpacked bytes if compressed, and subtracts them from the budget `left`.
// Allocates the declared bytes at once, because a growing buffer would hold them twice. Reads one
// byte more, so that the caller can detect a longer file; without a declared size, reads only the
// first bytes. Throws Error: format_unsupported if `left` is too small; compression_damaged.
SharedStore open_unpacked(const std::string& path, const char* format, std::uint64_t& left,
                          const DeclaredBytes& declared);

}  // namespace tundish
