// A folder of array formats whose chunks are files (N5, Zarr): finding the arrays below it, and
// reading one chunk's file.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/file.h"

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

// Opens the regular file `name` ("c/0/1") below the folder of an array. Symbolic links below that
// folder are not followed: a data set could show files of its reader through them. Throws Error:
// source_missing, source_unreadable for a link or anything else that is no regular file,
// no_permission, io_read.
File open_in_array(const std::string& folder, const std::string& name);

// The whole file that open_in_array() finds; false when there is none. Throws Error:
// source_damaged when it has more than `most` bytes, and what open_in_array() throws.
bool read_if_exists(std::vector<std::byte>& out, const std::string& folder, const std::string& name,
                    std::uint64_t most, const char* format);

}  // namespace tundish
