// What a scan of a data file found, kept so that the next opening need not scan it again.
//
// An index of DIR/NAME is the file DIR/.NAME.tndx; when the folder cannot be written to, a file in
// $XDG_CACHE_HOME/tundish (~/.cache/tundish). It is used only while the data file has the size and
// the time of its last change that it had when it was scanned, and only when its checksum is right.
// Its content is never trusted: whoever reads it checks every offset against the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace tundish {

// How a file looked when it was opened.
struct FileStamp {
  std::uint64_t size = 0;
  std::int64_t changed_ns = 0;         // st_mtim
  std::int64_t status_changed_ns = 0;  // st_ctim, which programs cannot set
  bool operator==(const FileStamp&) const = default;
};
// Waits until the last change is older than a tick of the file system's clock, so that a change
// after the stamp was taken changes the stamp. Throws Error.
FileStamp stamp_of(const std::string& path);

// `format` and `version` name what wrote the payload: "tfrecord", 1. Empty when there is no index
// that fits.
std::optional<std::vector<std::byte>> load_side_index(const std::string& path,
                                                      const FileStamp& stamp,
                                                      std::string_view format,
                                                      std::uint32_t version);

// By temporary file and rename, so that nobody reads half of it. Failing is no error: the next
// opening scans again. Nothing is written when the file no longer has this stamp.
void save_side_index(const std::string& path, const FileStamp& stamp, std::string_view format,
                     std::uint32_t version, Bytes payload) noexcept;

// Takes an index file apart, for the two above and for tests; empty when it is damaged or of
// something else.
std::optional<std::vector<std::byte>> open_side_index(Bytes file, const std::string& path,
                                                      const FileStamp& stamp,
                                                      std::string_view format,
                                                      std::uint32_t version);

}  // namespace tundish
