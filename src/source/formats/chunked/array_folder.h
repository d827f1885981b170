// A folder of array formats whose chunks are files (N5, Zarr): finding the arrays below it, and
// reading one chunk's file.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/bytes.h"

namespace tundish {

// Calls visit(folder, name) for `path` and the folders below it, sorted by name, at most 8 levels;
// a folder for which it gives true (an array) is not entered. The name is relative: "train/image",
// for `path` itself empty. Throws Error when a folder cannot be listed, or there are too many.
void walk_arrays(
    const std::string& path,
    const std::function<bool(const std::string& folder, const std::string& name)>& visit);

// Whether the folder, which has no metadata of an array, has chunks all the same: files or folders
// that are called by numbers, or a folder c, and are neither arrays nor groups themselves.
// `metadata`: the names of files that make a folder an array or a group.
bool has_chunks_alone(const std::string& folder, std::span<const char* const> metadata);
// What is said of such folders.
std::vector<std::string> warnings_of_lost(const std::vector<std::string>& names,
                                          const char* metadata);

// The last part of a path, as the name of a single array: "a/b.zarr/" gives "b.zarr".
std::string own_name(const std::string& path);

// The whole file; false when there is none. Throws Error: source_damaged when it has more than
// `most` bytes, and what File throws.
bool read_if_exists(std::vector<std::byte>& out, const std::string& path, std::uint64_t most,
                    const char* format);

}  // namespace tundish
