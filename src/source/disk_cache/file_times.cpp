#include "source/disk_cache/file_times.h"

#include <fmt/format.h>

#include <array>

#include "source/folder_entries.h"
#include "source/names.h"

namespace tundish {
namespace {

constexpr int kMaxLevels = 64;  // groups, and a folder per axis of an array in chunks

bool is_link(const std::string& path) {
  struct stat status;
  return ::lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode);
}

// Of a file that a folder lists: a link to nowhere has the stamp of the link. Throws Error when it
// has gone since.
std::uint64_t listed_stamp(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) == 0) return content_stamp(status);
  if (::lstat(path.c_str(), &status) != 0) throw_errno(path, "lstat", false);
  return content_stamp(status);
}

// A sum: a folder has no order.
std::uint64_t folder_stamp(const std::string& path, int level) {
  std::uint64_t sum = 0;
  const int error = visit_folder(path, [&](const FolderEntry& entry) {
    const std::string inside = join_path(path, entry.name);
    const bool enter = entry.is_folder && level < kMaxLevels && !is_link(inside);
    const std::array words = {
        std::uint64_t{XXH3_64bits(entry.name.data(), entry.name.size())},
        enter ? folder_stamp(inside, level + 1) : listed_stamp(inside),
    };
    sum += XXH3_64bits(words.data(), sizeof words);
    return true;
  });
  return error == 0 ? sum : content_stamp(path);  // a file
}

}  // namespace

std::string file_times(const Source& source) {
  if (const auto* known = dynamic_cast<const FileTimes*>(&source)) return known->file_times();
  return fmt::format("{:016x}", folder_stamp(source.path(), 0));
}

bool was_missing(const Source& source, std::uint64_t i) {
  const Source& holder = source.part(i);
  const auto* known = dynamic_cast<const FileTimes*>(&holder);
  return known && known->was_missing(i);
}

}  // namespace tundish
