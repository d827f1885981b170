// Results of scanning a data file, stored so that the next opening need not scan the file.
//
// The index of DIR/NAME is the file DIR/.NAME.tndx, or, if the folder is not writable, a file in
// $XDG_CACHE_HOME/tundish (~/.cache/tundish). It is used only if the data file still has the size,
// the times of change and the inode that it had during the scan, and only if its checksum is
// correct.
// Its content is never trusted: callers check every offset against the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace tundish {

// State of a file when it was opened.
struct FileStamp {
  std::uint64_t size = 0;
  std::int64_t changed_ns = 0;         // st_mtim
  std::int64_t status_changed_ns = 0;  // st_ctim, which programs cannot set
  std::uint64_t inode = 0;  // differs between two files that were written in one clock tick
  bool operator==(const FileStamp&) const = default;
};
// Waits until the last change is older than a tick of the file system's clock, so that any later
// change also changes the stamp. Throws Error.
FileStamp stamp_of(const std::string& path);

// `format` and `version` identify the writer of the payload: "tfrecord", 1. Returns empty if no
// index fits.
std::optional<std::vector<std::byte>> load_side_index(const std::string& path,
                                                      const FileStamp& stamp,
                                                      std::string_view format,
                                                      std::uint32_t version);

// Writes a temporary file and renames it, so that no reader sees half an index. Failure is not an
// error: the next opening scans again. Writes nothing if the file no longer has this stamp.
void save_side_index(const std::string& path, const FileStamp& stamp, std::string_view format,
                     std::uint32_t version, Bytes payload) noexcept;

// Parses an index file, for the functions above and for tests; empty if it is damaged or belongs
// to something else.
std::optional<std::vector<std::byte>> open_side_index(Bytes file, const std::string& path,
                                                      const FileStamp& stamp,
                                                      std::string_view format,
                                                      std::uint32_t version);

}  // namespace tundish
