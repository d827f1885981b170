#include "source/disk_cache/file_times.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <array>

#include "source/folder_entries.h"
#include "source/names.h"

namespace tundish {

std::string file_times(const Source& source) {
  if (const auto* known = dynamic_cast<const FileTimes*>(&source)) return known->file_times();
  const std::string path = source.path();
  std::uint64_t sum = changed_at(path);  // a sum: a folder has no order
  visit_folder(path, [&](const FolderEntry& entry) {
    const std::array words = {
        std::uint64_t{XXH3_64bits(entry.name.data(), entry.name.size())},
        changed_at(join_path(path, entry.name)),
    };
    sum += XXH3_64bits(words.data(), sizeof words);
    return true;
  });
  return fmt::format("{:016x}", sum);
}

}  // namespace tundish
