// Lists a folder. std::filesystem's iterator terminates the process when memory is short.
#pragma once

#include <dirent.h>
#include <sys/stat.h>
#include <xxhash.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "base/file.h"
#include "base/interruption.h"

namespace tundish {

struct FolderEntry {
  std::string name;
  bool is_folder = false, is_file = false;  // links are followed; neither: a dangling link, ...
  std::uint64_t bytes = 0;                  // size of a file
};

// Returns when a file was changed, in nanoseconds; 0 if it is missing.
inline std::uint64_t changed_at(const struct stat& status) {
  return static_cast<std::uint64_t>(status.st_mtim.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(status.st_mtim.tv_nsec);
}
inline std::uint64_t changed_at(const std::string& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 ? changed_at(status) : 0;
}

// Longer than a clock tick of a local file system.
inline constexpr std::chrono::milliseconds kFileClockTick{20};

// Changes whenever the content of a file may have changed: a digest of its size, modification time,
// status change time and inode. Programs such as unzip and rsync -a can set the modification time,
// but not the status change time. Two files written in one clock tick differ in their inodes.
inline std::uint64_t content_stamp(const struct stat& status) {
  const std::uint64_t words[] = {static_cast<std::uint64_t>(status.st_size), changed_at(status),
                                 static_cast<std::uint64_t>(status.st_ctim.tv_sec),
                                 static_cast<std::uint64_t>(status.st_ctim.tv_nsec),
                                 static_cast<std::uint64_t>(status.st_ino)};
  return XXH3_64bits(words, sizeof words);
}
// Throws Error if the file is missing: no stamp can prove that a missing file is unchanged.
inline std::uint64_t content_stamp(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) throw_errno(path, "stat", false);
  return content_stamp(status);
}
inline std::uint64_t content_stamp(const File& file) {
  struct stat status;
  if (::fstat(file.descriptor(), &status) != 0) throw_errno(file.path(), "fstat", false);
  return content_stamp(status);
}

// The size and the modification time of an open file. A read compares them with their first values,
// because labels and places were read before. Unlike content_stamp(), they do not change when a
// file is renamed, linked or gets other permissions.
struct WrittenAt {
  std::uint64_t size = 0;
  std::uint64_t changed_ns = 0;
  bool operator==(const WrittenAt&) const = default;
};
inline WrittenAt written_at(const File& file) {
  struct stat status;
  if (::fstat(file.descriptor(), &status) != 0) throw_errno(file.path(), "fstat", false);
  return {static_cast<std::uint64_t>(status.st_size), changed_at(status)};
}
// Throws Error(source_changed) if the file was written after it had these values.
inline void check_unwritten(const File& file, const WrittenAt& opened) {
  if (written_at(file) == opened) return;
  throw Error(ErrorCode::source_changed, {.file = file.path()},
              "the file was written after it was opened");
}

// Calls visit(entry) in the system's order until it returns false. Returns the errno if the folder
// cannot be listed, else 0.
template <typename Visit>
int visit_folder(const std::string& path, Visit&& visit) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), ::closedir);
  if (!folder) return errno;
  while (true) {
    check_stop(path);
    errno = 0;
    const dirent* found = ::readdir(folder.get());
    if (found == nullptr) return errno;
    FolderEntry entry{.name = found->d_name};
    if (entry.name == "." || entry.name == "..") continue;
    struct stat status;
    if (::fstatat(::dirfd(folder.get()), entry.name.c_str(), &status, 0) == 0) {
      entry.is_folder = S_ISDIR(status.st_mode);
      entry.is_file = S_ISREG(status.st_mode);
      entry.bytes = static_cast<std::uint64_t>(status.st_size);
    }
    if (!visit(entry)) return 0;
  }
}

}  // namespace tundish
