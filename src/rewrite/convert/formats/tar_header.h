// Headers of a .tar archive (POSIX pax), without owner and time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tundish {

// What comes before the data of a file: 512 bytes, or three blocks and more for a long name.
std::string tar_file_head(std::string_view name, std::uint64_t size);

// A header for the whole archive: a comment that other programs pass over.
std::string tar_comment(std::string_view text);

inline constexpr std::size_t kTarBlock = 512;
constexpr std::size_t tar_padding(std::uint64_t size) {
  return static_cast<std::size_t>((kTarBlock - size % kTarBlock) % kTarBlock);
}

}  // namespace tundish
