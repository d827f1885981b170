// The folder of a disk cache, which processes share:
//
//   ROOT/lock             locked while files are added, counted or removed
//   ROOT/ID/used          locked (shared) by everyone who has this data set open; its time is that
//   of
//                         the last opening
//   ROOT/ID/NAME.part     a file that a process fills; locked by it; at its full size from the
//   start ROOT/ID/NAME.records  a complete file; never changed again
//
// The sizes of all .part and .records files together never exceed the limit: whoever adds one holds
// the lock and counts first. Data sets that nobody has open make room, the one that was not used
// longest first. A data set never makes room for itself: in epochs without end, whatever is kept is
// worth the same.
//
// Thread safety: add_file() in one thread at a time, everything else in any.
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
  // Makes the folders; files that a killed process left are completed. Throws Error: argument when
  // another user could have planted samples, see cache_folder_risk().
  CacheFolder(const std::string& root, const CacheId& id, std::uint64_t limit);

  // Paths of the complete files of this data set.
  std::vector<std::string> complete_files() const;

  // A new locked .part file of between `least` and `wanted` bytes, its head written. Nothing when
  // there is no room, or when another process holds the lock just now. Throws Error(disk_full,
  // io_write).
  std::optional<File> add_file(std::uint64_t wanted, std::uint64_t least);

  // Writes the index behind the records, which end at `end`; the file gets its final size and name,
  // which is returned. Throws Error.
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
  std::uint64_t made_ = 0;  // files of this object, for their names
};

// Why samples in a folder could come from another user: every user may write to it, or its owner is
// neither `user` nor `owner`; empty when neither holds. In a folder with the sticky bit, such as
// /tmp, users cannot replace what belongs to others.
std::string cache_folder_risk(const struct stat& folder, uid_t user, uid_t owner);

// Bytes of all files in the folder of a disk cache, of every data set.
std::uint64_t cache_folder_bytes(const std::string& root);

}  // namespace tundish
