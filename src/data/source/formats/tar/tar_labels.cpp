#include "data/source/formats/tar/tar_labels.h"

#include <fmt/format.h>

#include "base/error.h"

namespace tundish {
namespace {

// Length with slash of the folder that every key has at `from`, above another folder; or 0.
std::size_t common_folder(const StringTable& keys, std::size_t from) {
  const std::string_view first = keys[0].substr(from);
  const std::size_t length = first.find('/') + 1;  // npos + 1 == 0
  for (std::size_t i = 0; i < keys.size() && length > 0; ++i) {
    const std::string_view key = keys[i].substr(from);
    if (!key.starts_with(first.substr(0, length))) return 0;
    if (key.find('/', length) == std::string_view::npos) return 0;
  }
  return length;
}

}  // namespace

FolderLabels label_by_folders(const StringTable& keys) {
  FolderLabels out;
  std::size_t skip = 0;  // bytes of the folders common to all samples
  while (const std::size_t common = common_folder(keys, skip)) skip += common;
  StringTable texts;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::string_view rest = keys[i].substr(skip);
    const std::size_t slash = rest.find('/');
    if (slash == std::string_view::npos) {
      const bool folders = keys[0].find('/') != std::string_view::npos;
      out.warning = folders
                        ? fmt::format("samples have no labels, some are in no folder (first: {})",
                                      printable(std::string(keys[i])))
                        : "samples have no labels: there are no .cls files and no folders";
      return out;
    }
    texts.add(rest.substr(0, slash));
  }
  if (skip > 0) {
    out.warning = fmt::format("classes are the folders below {}",
                              printable(std::string(keys[0].substr(0, skip))));
  }
  number_names(out.labels, texts);
  if (out.labels.classes.size() == 1) {
    out.warning = fmt::format("all samples have label 0, because all are in the folder {}",
                              printable(std::string(texts[0])));
  }
  return out;
}

}  // namespace tundish
