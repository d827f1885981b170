// A compressed file as bytes in memory, for small formats that are often kept so (.gz).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "data/source/arrays/byte_store.h"

namespace tundish {

// How many bytes an unpacked file has, by its first bytes; nothing where they do not say it.
using DeclaredBytes = std::function<std::optional<std::uint64_t>(Bytes first)>;

// The file itself, or what it holds when it is compressed, at most `left` bytes, which become less.
// Memory for the declared bytes is taken at once: a buffer that grows would hold them twice. One
// byte more is read, so that the caller notices a file that goes on; without a declared size, the
// first bytes alone. Throws Error: format_unsupported when it is more; compression_damaged.
SharedStore open_unpacked(const std::string& path, const char* format, std::uint64_t& left,
                          const DeclaredBytes& declared);

}  // namespace tundish
