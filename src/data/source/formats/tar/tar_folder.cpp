#include "data/source/formats/tar/tar_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "base/file.h"
#include "data/source/decompress.h"
#include "data/source/folder_entries.h"
#include "data/source/format.h"
#include "data/source/names.h"

namespace tundish {
namespace {

bool is_note(const std::string& name) {
  if (name.starts_with('.')) return true;
  for (const char* ending : {".json", ".txt", ".md", ".idx"}) {
    if (lower(name).ends_with(ending)) return true;
  }
  return false;
}

bool file_is_tar(const std::string& folder, const std::string& name) {
  try {
    std::array<std::byte, 512> first;
    const File file = File::open(join_path(folder, name));
    return is_tar_file(Bytes(first).first(file.read_at(first, 0)), name);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::interrupted) throw;
    return false;
  }
}

// Returns "train-000" for "train-000.tar.gz".
std::string without_ending(const std::string& name) {
  const std::string small = lower(name);
  const std::size_t base = name.rfind('/') + 1;  // npos + 1 == 0
  for (const std::string_view ending : {".tar", ".tgz"}) {
    const std::size_t at = small.rfind(ending);
    if (at != small.npos && at > base) return name.substr(0, at);
  }
  return name;
}

// Returns "train-" for "train-000003.tar".
std::string set_of(const std::string& name) {
  std::string stem = without_ending(name);
  while (!stem.empty() && stem.back() >= '0' && stem.back() <= '9') stem.pop_back();
  return stem;
}

}  // namespace

bool is_tar_file(Bytes first, const std::string& name) {
  const std::string_view text(reinterpret_cast<const char*>(first.data()), first.size());
  if (text.size() >= 262 && text.substr(257, 5) == "ustar") return true;
  const std::string small = lower(name);
  if (sniff_compression(first) == Compression::none) return small.ends_with(".tar");
  return small.find(".tar") != small.npos || small.ends_with(".tgz");
}

bool is_tar_folder(const std::string& path) {
  bool all = true, any = false;
  const int error = visit_folder(path, [&](const FolderEntry& entry) {
    if (is_note(entry.name)) return true;
    all = entry.is_file && file_is_tar(path, entry.name);
    any = any || all;
    return all;
  });
  return all && any && error == 0;
}

std::vector<std::string> list_tars(const std::string& path) {
  std::vector<std::string> names;
  std::set<std::string> sets;
  visit_folder(path, [&](const FolderEntry& entry) {
    if (is_note(entry.name) || !entry.is_file) return true;
    names.push_back(entry.name);
    sets.insert(set_of(entry.name));
    return true;
  });
  std::sort(names.begin(), names.end(), name_before);
  if (sets.size() < 2) return names;
  throw Error(
      unsupported_source(
          "tar", fmt::format("the folder holds archives of several sets ({}..., {}...); say which "
                             "by a pattern, such as '{}*.tar', or '*.tar' for all",
                             printable(*sets.begin()), printable(*std::next(sets.begin())),
                             printable(join_path(path, *sets.begin())))),
      {.file = path});
}

std::vector<std::string> archive_names(std::span<const std::string> files) {
  const std::vector<std::string> names = distinct_names(files);
  std::vector<std::string> stems;
  for (const std::string& name : names) stems.push_back(without_ending(name));
  const std::set<std::string> different(stems.begin(), stems.end());
  return different.size() == stems.size() ? stems : names;
}

}  // namespace tundish
