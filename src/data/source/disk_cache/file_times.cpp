#include "data/source/disk_cache/file_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "data/source/folder_entries.h"
#include "data/source/names.h"

namespace tundish {
namespace {

constexpr std::size_t kMaxLevels = 64;  // groups, and a folder per axis of a chunked array
constexpr std::uint64_t kMaxLinkedFolders = 100'000;  // more indicates a maze of links

bool is_link(const std::string& path) {
  struct stat status;
  return ::lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode);
}

// Returns the stamp of a listed file; a dangling link has the stamp of the link itself. Throws
// Error if the file was removed since.
std::uint64_t listed_stamp(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) == 0) return content_stamp(status);
  if (::lstat(path.c_str(), &status) != 0) throw_errno(path, "lstat", false);
  return content_stamp(status);
}

// Visits all files below a folder. Follows links to folders, because a group of arrays may link to
// an array. The time of a folder does not change when a file inside is rewritten.
class FolderStamp {
 public:
  std::uint64_t read(const std::string& path, bool is_linked) {
    if (is_linked && ++linked_ > kMaxLinkedFolders) {
      throw Error(ErrorCode::source_unreadable, {.file = path},
                  fmt::format("symbolic links lead to more than {} folders",
                              with_commas(kMaxLinkedFolders)));
    }
    struct stat status;
    if (::stat(path.c_str(), &status) != 0) throw_errno(path, "stat", false);
    above_.emplace_back(status.st_dev, status.st_ino);
    std::uint64_t sum = 0;  // entries are unordered
    const int error = visit_folder(path, [&](const FolderEntry& entry) {
      const std::array words = {
          std::uint64_t{XXH3_64bits(entry.name.data(), entry.name.size())},
          stamp_of(join_path(path, entry.name), entry.is_folder, is_linked),
      };
      sum += XXH3_64bits(words.data(), sizeof words);
      return true;
    });
    above_.pop_back();
    return error == 0 ? sum : content_stamp(path);  // a file
  }

 private:
  std::uint64_t stamp_of(const std::string& path, bool is_folder, bool is_linked) {
    const bool enter = is_folder && above_.size() <= kMaxLevels && !leads_back(path);
    return enter ? read(path, is_linked || is_link(path)) : listed_stamp(path);
  }

  bool leads_back(const std::string& path) const {
    struct stat status;
    if (::stat(path.c_str(), &status) != 0) return false;
    return std::find(above_.begin(), above_.end(), Identity(status.st_dev, status.st_ino)) !=
           above_.end();
  }

  using Identity = std::pair<dev_t, ino_t>;
  std::vector<Identity> above_;  // the open folders
  std::uint64_t linked_ = 0;     // folders reached through links
};

}  // namespace

std::string file_times(const Source& source) {
  if (const auto* known = dynamic_cast<const FileTimes*>(&source)) return known->file_times();
  return stamp_below(source.path());
}

std::string stamp_below(const std::string& path) {
  return fmt::format("{:016x}", FolderStamp().read(path, false));
}

bool was_missing(const Source& source, std::uint64_t i) {
  const Source& holder = source.part(i);
  const auto* known = dynamic_cast<const FileTimes*>(&holder);
  return known && known->was_missing(i);
}

}  // namespace tundish
