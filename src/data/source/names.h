// Names of files: the order Python sorts them in, and which of them are images.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tundish {

// Python's order of str, as os.scandir gives names: by code point, where a byte that is not part
// of valid UTF-8 counts as U+DC00 + byte (surrogateescape). A strict weak order of any bytes.
bool name_before(std::string_view a, std::string_view b);

// Longest name of a sample, in bytes. What is longer can be no file: Linux has paths of 4,095.
inline constexpr std::size_t kMaxKeyBytes = 4000;

// Whether the name ends as an image does, in any case: torchvision's IMG_EXTENSIONS and .npy.
bool has_image_ending(std::string_view name);

// ASCII letters to lower case, other bytes as they are.
std::string lower(std::string_view text);

// FOLDER/NAME, with one slash between.
std::string join_path(std::string_view folder, std::string_view name);

// The files' names without folders; where two are the same, with the folders below the one that
// holds all of them. Different for different files.
std::vector<std::string> distinct_names(std::span<const std::string> files);

// Without empty parts and ".", with ".." resolved by the letters alone (no file is asked). What
// cannot be resolved stays in front: "../a" of a relative path. An absolute one stays absolute.
std::string clean_path(std::string_view path);

// Whether a sample may be called so: relative and clean, not too long, no zero byte.
bool is_clean_key(std::string_view key);

bool is_utf8(std::string_view text);

// Without the bytes of `blanks` at its ends.
std::string_view trim(std::string_view text, std::string_view blanks);

}  // namespace tundish
