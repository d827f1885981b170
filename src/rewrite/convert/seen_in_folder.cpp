#include "rewrite/convert/seen_in_folder.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/error.h"
#include "data/source/folder_entries.h"
#include "data/source/names.h"

namespace tundish {
namespace {

bool is_link(const std::string& path) {
  struct stat status;
  return ::lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode);
}

std::uint64_t hash_of(const std::string& name) { return XXH3_64bits(name.data(), name.size()); }

}  // namespace

SeenInFolder::SeenInFolder(std::string folder) : folder_(std::move(folder)) {
  visit_folder(folder_, [&](const FolderEntry&) { return was_used_ = true, false; });
}

void SeenInFolder::add(const std::string& name, bool is_sample) {
  if (was_used_) written_.insert(hash_of(name));
  if (!is_sample && has_image_ending(name)) others_.add(name);
  const bool as_in_torchvision = has_image_ending(name) && !lower(name).ends_with(".npy");
  if (is_sample && !as_in_torchvision) unlike_.add(name);
}

// Returns the first image that was not written; empty if there is none. Folders behind links are
// not entered.
std::string SeenInFolder::find_foreign(const std::string& below) const {
  std::string found;
  std::vector<std::string> folders;
  visit_folder(join_path(folder_, below), [&](const FolderEntry& entry) {
    const std::string name = join_path(below, entry.name);
    if (entry.is_folder && !is_link(join_path(folder_, name))) folders.push_back(name);
    const bool is_foreign =
        entry.is_file && has_image_ending(name) && !written_.contains(hash_of(name));
    if (is_foreign) found = name;
    return !is_foreign;
  });
  for (std::size_t n = 0; n < folders.size() && found.empty(); ++n) {
    found = find_foreign(folders[n]);
  }
  return found;
}

std::vector<std::string> SeenInFolder::warnings(const std::string& list, bool labeled) const {
  std::vector<std::string> out;
  const std::string fix = list.empty() ? "" : "; open " + list + " instead of the folder";
  if (others_.count > 0) {
    out.push_back(fmt::format(
        "files beside the images are named as images, too: {} (first: {}). Programs that read all "
        "images of a folder take them for samples{}",
        with_commas(others_.count), printable(others_.first), fix));
  }
  if (labeled && unlike_.count > 0) {
    out.push_back(fmt::format(
        "images whose names end otherwise: {} (first: {}). Programs such as torchvision's "
        "ImageFolder leave them out{}",
        with_commas(unlike_.count), printable(unlike_.first), fix));
  }
  if (!was_used_) return out;
  if (const std::string foreign = find_foreign(""); !foreign.empty()) {
    out.push_back(fmt::format(
        "the folder has images that are not of this dataset (first: {}). Programs that read all "
        "images of a folder take them for samples; remove them, or choose another folder",
        printable(foreign)));
  }
  return out;
}

}  // namespace tundish
