// Array formats that store one file per chunk in a folder (N5, Zarr): finds the arrays below the
// folder and reads the file of a chunk.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/file.h"
#include "data/source/formats/chunked/chunked_array_source.h"

namespace tundish {

// Looking for so many files takes less than a second.
inline constexpr std::uint64_t kMaxMissingChunks = 100'000;

// Calls visit(folder, name) for `path` and the folders below, sorted by name, at most 8 levels.
// Does not enter an array, for which visit() returns true. The name is relative, as in
// "train/image", and empty for `path`. Throws Error if a folder cannot be listed, or if there are
// too many folders.
void walk_arrays(
    const std::string& path,
    const std::function<bool(const std::string& folder, const std::string& name)>& visit);

// Returns true if a folder without array metadata nevertheless has chunks: a folder c, or files or
// folders with numbers as names, and none of these is an array or a group itself.
// `metadata`: names of the files that make a folder an array or a group.
bool has_chunks_alone(const std::string& folder, std::span<const char* const> metadata);
// Returns warnings about such folders.
std::vector<std::string> warnings_of_lost(const std::vector<std::string>& names,
                                          const char* metadata);

// Returns the last part of a path as the name of a single array: "b.zarr" for "a/b.zarr/".
std::string own_name(const std::string& path);

// Opens the regular file `name` ("c/0/1") below the folder of an array. Does not follow symbolic
// links below that folder: a dataset could expose files of its reader through them. Throws Error:
// source_missing, source_unreadable for a link or any other file that is not regular,
// no_permission, io_read.
File open_in_array(const std::string& folder, const std::string& name);

// Reads the whole file that open_in_array() finds; false if there is none. Throws Error:
// source_damaged if it has more than `most` bytes, and the errors of open_in_array().
bool read_if_exists(std::vector<std::byte>& out, const std::string& folder, const std::string& name,
                    std::uint64_t most, const char* format);

// Limits the number of samples in proportion to the stored bytes, because samples are numbered and
// every label is read. The files below `path` are listed only if an array claims many samples.
void limit_samples(std::vector<NamedArray>& arrays, const std::string& path);

}  // namespace tundish
