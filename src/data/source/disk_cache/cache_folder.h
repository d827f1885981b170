// The folder of a disk cache, shared by processes:
//
//   ROOT/lock             locked while files are added, counted or removed
//   ROOT/ID/used          locked (shared) by every process with this dataset open; its time is
//                         the time of the last opening
//   ROOT/ID/NAME.part     a file being filled, locked by its process; at its full size from the
//                         start
//   ROOT/ID/NAME.records  a complete file; never changed again
//
// The total size of all .part and .records files never exceeds the limit: a process that adds one
// holds the lock and counts first. Datasets that are not open make room, the least recently used
// first. A dataset never evicts its own records: over endless epochs, all records are worth the
// same.
//
// Thread safety: add_file() in one thread at a time, all other methods in any.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "data/source/disk_cache/cache_record.h"

namespace tundish {

class CacheFolder {
 public:
  // Makes the folders and completes files of killed processes. Throws Error: argument if another
  // user could have planted samples, see cache_folder_risk().
  CacheFolder(const std::string& root, const CacheId& id, std::uint64_t limit);

  // Returns the paths of the complete files of this dataset.
  std::vector<std::string> complete_files() const;

  // Makes a locked .part file of between `least` and `wanted` bytes and writes its head. Empty if
  // there is no room, or if another process currently holds the lock. Throws Error(disk_full,
  // io_write).
  std::optional<File> add_file(std::uint64_t wanted, std::uint64_t least);

  // Writes the index behind the records, which end at `end`. Sets the file's final size and name,
  // and returns the name. Throws Error.
  std::string complete(File& file, std::uint64_t end, const std::vector<RecordPlace>& places) const;

  void remove(const std::string& path) const;

 private:
  std::uint64_t make_room(std::uint64_t wanted);
  bool evict_another();
  void shrink_own();
  void complete_left_files();
  void complete_left_file(const std::string& path);

  std::string root_, own_;  // absolute
  CacheId id_;
  std::uint64_t limit_;
  File lock_, used_;
  std::uint64_t made_ = 0;  // files made by this object, for their names
};

// Returns why samples in a folder could come from another user: every user may write to the folder,
// or its owner is neither `user` nor `owner`. Empty if neither holds. In a folder with the sticky
// bit, such as /tmp, users cannot replace files of other users.
std::string cache_folder_risk(const struct stat& folder, uid_t user, uid_t owner);

// Returns the bytes of all files in the folder of a disk cache, for all datasets.
std::uint64_t cache_folder_bytes(const std::string& root);

}  // namespace tundish
