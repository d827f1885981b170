// Writes headers of a .tar archive (POSIX pax), without owner and time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tundish {

// Returns the header before a file's data: 512 bytes, or three or more blocks for a long name.
std::string tar_file_head(std::string_view name, std::uint64_t size);

// Returns a header for the whole archive: a comment that other programs ignore.
std::string tar_comment(std::string_view text);

inline constexpr std::size_t kTarBlock = 512;
constexpr std::size_t tar_padding(std::uint64_t size) {
  return static_cast<std::size_t>((kTarBlock - size % kTarBlock) % kTarBlock);
}

}  // namespace tundish
