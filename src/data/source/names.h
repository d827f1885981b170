// File names: Python's sort order, and detection of image files.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tundish {

// Python's order of str, as os.scandir returns names: by code point, where a byte outside of valid
// UTF-8 counts as U+DC00 + byte (surrogateescape). A strict weak order of any bytes.
bool name_before(std::string_view a, std::string_view b);

// Longest name of a sample, in bytes. A longer name cannot be a file: Linux limits paths to 4,095.
inline constexpr std::size_t kMaxKeyBytes = 4000;

// Returns true for an image ending in any case: torchvision's IMG_EXTENSIONS and .npy.
bool has_image_ending(std::string_view name);

// Converts ASCII letters to lower case, and keeps other bytes.
std::string lower(std::string_view text);

// Returns FOLDER/NAME, with one slash between.
std::string join_path(std::string_view folder, std::string_view name);

// Returns the files' names without folders. Where two are equal, includes the folders below the
// folder that holds all files. The results for different files differ.
std::vector<std::string> distinct_names(std::span<const std::string> files);

// Removes empty parts and ".", and resolves ".." by text alone, without file access. A ".." that
// cannot be resolved stays in front, as in "../a". An absolute path stays absolute.
std::string clean_path(std::string_view path);

// Returns true for a valid sample key: relative, clean, not too long, no zero byte.
bool is_clean_key(std::string_view key);

bool is_utf8(std::string_view text);

// Removes the bytes of `blanks` at both ends.
std::string_view trim(std::string_view text, std::string_view blanks);

}  // namespace tundish
