#include "data/source/formats/chunked/array_folder.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <system_error>
#include <utility>

#include "data/source/folder_entries.h"
#include "data/source/format.h"
#include "data/source/names.h"

namespace tundish {
namespace {

constexpr int kMaxLevels = 8;
constexpr std::size_t kMaxFolders = 100'000;

std::vector<std::string> sub_folders(const std::string& path) {
  std::vector<std::string> out;
  const int error = visit_folder(path, [&](const FolderEntry& entry) {
    if (entry.is_folder) out.push_back(entry.name);
    return out.size() <= kMaxFolders;
  });
  if (error != 0) {
    throw Error(ErrorCode::source_unreadable, {.file = path},
                std::generic_category().message(error));
  }
  std::sort(out.begin(), out.end(), name_before);
  return out;
}

// Opens one part of a path below `parent`; `path` is for messages.
File open_part(const File& parent, const std::string& part, bool is_last, const std::string& path) {
  struct stat status;
  if (::fstatat(parent.descriptor(), part.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    throw_errno(path, "open", false);
  }
  const char* wrong = nullptr;
  if (S_ISLNK(status.st_mode)) {
    wrong =
        "a symbolic link, which is not followed inside an array: copy the dataset together with "
        "the files that its links name, as cp -rL does";
  } else if (is_last && !S_ISREG(status.st_mode)) {
    wrong = S_ISDIR(status.st_mode) ? "it is a folder" : "it is not a regular file";
  }
  if (wrong) throw Error(ErrorCode::source_unreadable, {.file = path}, wrong);
  const int flags =
      O_CLOEXEC | O_NOFOLLOW | (is_last ? O_RDONLY | O_NONBLOCK : O_PATH | O_DIRECTORY);
  int descriptor;
  do {
    descriptor = ::openat(parent.descriptor(), part.c_str(), flags);
  } while (descriptor < 0 && errno == EINTR);
  if (descriptor < 0) throw_errno(path, "open", false);
  return File(descriptor, path);
}

// Counts the bytes of the files below a folder and of their names, up to `most`.
std::uint64_t stored_bytes(const std::string& path, std::uint64_t most) {
  constexpr std::uint64_t kEntryBytes = 16;
  std::set<std::pair<dev_t, ino_t>> seen;  // a link may lead back
  std::vector<std::string> open = {path};
  std::uint64_t sum = 0;
  while (!open.empty() && sum < most) {
    const std::string folder = std::move(open.back());
    open.pop_back();
    struct stat status;
    if (::stat(folder.c_str(), &status) != 0) continue;
    if (!seen.emplace(status.st_dev, status.st_ino).second) continue;
    visit_folder(folder, [&](const FolderEntry& entry) {
      sum += kEntryBytes + (entry.is_file ? std::min(entry.bytes, most) : 0);
      if (entry.is_folder) open.push_back(join_path(folder, entry.name));
      return sum < most;
    });
  }
  return std::min(sum, most);
}

}  // namespace

void limit_samples(std::vector<NamedArray>& arrays, const std::string& path) {
  constexpr std::uint64_t kAlways = 1'000'000, kPerByte = 8;  // as for HDF5
  const auto claims_many = [](const NamedArray& named) {
    return std::ranges::any_of(named.array->grid().shape,
                               [](std::uint64_t side) { return side > kAlways; });
  };
  if (std::ranges::none_of(arrays, claims_many)) return;
  const std::uint64_t bytes = stored_bytes(path, kMaxGridSamples / kPerByte);
  for (NamedArray& named : arrays) named.max_samples = std::max(kAlways, bytes * kPerByte);
}

void walk_arrays(const std::string& path,
                 const std::function<bool(const std::string&, const std::string&)>& visit) {
  struct Place {
    std::string folder, name;
    int level;
  };
  std::vector<Place> open = {{path, "", 0}};
  std::size_t seen = 0;
  while (!open.empty()) {
    const Place place = std::move(open.back());
    open.pop_back();
    if (visit(place.folder, place.name) || place.level == kMaxLevels) continue;
    const std::vector<std::string> inside = sub_folders(place.folder);
    seen += inside.size();
    if (seen > kMaxFolders) {
      throw Error(ErrorCode::format_unsupported, {.file = path},
                  fmt::format("more than {} folders that are no arrays", kMaxFolders));
    }
    for (auto name = inside.rbegin(); name != inside.rend(); ++name) {
      open.push_back({join_path(place.folder, *name),
                      place.name.empty() ? *name : join_path(place.name, *name), place.level + 1});
    }
  }
}

bool has_chunks_alone(const std::string& folder, std::span<const char* const> metadata) {
  bool found = false;
  visit_folder(folder, [&](const FolderEntry& entry) {
    const bool number = entry.name.find_first_not_of("0123456789.") == entry.name.npos;
    if (!number && !(entry.name == "c" && entry.is_folder)) return true;
    const std::string inside = join_path(folder, entry.name);
    const auto there = [&](const char* name) {
      struct stat status;
      return ::stat(join_path(inside, name).c_str(), &status) == 0;
    };
    found =
        entry.is_file || (entry.is_folder && std::none_of(metadata.begin(), metadata.end(), there));
    return !found;
  });
  return found;
}

std::vector<std::string> warnings_of_lost(const std::vector<std::string>& names,
                                          const char* metadata) {
  std::vector<std::string> out;
  for (const std::string& name : names) {
    out.push_back(
        fmt::format("the folder {} is left out: it has chunks of an array, but no {}: fetch or "
                    "write the dataset again",
                    printable(name), metadata));
  }
  return out;
}

std::string own_name(const std::string& path) {
  const std::string clean = clean_path(path);
  const std::string name = clean.substr(clean.rfind('/') + 1);
  return name.empty() ? "array" : name;
}

File open_in_array(const std::string& folder, const std::string& name) {
  File parent(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC), folder);
  if (!parent.is_open()) throw_errno(folder, "open", false);
  std::string path = folder;
  for (std::size_t begin = 0;;) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    const std::string part = name.substr(begin, end - begin);
    path = join_path(path, part);
    File file = open_part(parent, part, end == name.size(), path);
    if (end == name.size()) return file;
    parent = std::move(file);
    begin = end + 1;
  }
}

bool read_if_exists(std::vector<std::byte>& out, const std::string& folder, const std::string& name,
                    std::uint64_t most, const char* format) {
  File file;
  try {
    file = open_in_array(folder, name);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::source_missing) return false;
    throw;
  }
  const std::uint64_t size = file.size();
  if (size > most) {
    throw Error(damaged_source(format,
                               fmt::format("the file has {} bytes, at most {} are possible",
                                           with_commas(size), with_commas(most)),
                               0),
                {.file = file.path()});
  }
  out.resize(size);
  out.resize(file.read_at(out, 0));
  return true;
}

}  // namespace tundish
