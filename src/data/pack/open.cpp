#include "data/pack/open.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>

#include "data/pack/manifest.h"
#include "data/pack/reader.h"
#include "data/source/format.h"
#include "data/source/open.h"
#include "data/source/views/address.h"

namespace tundish {
namespace {

bool is_pack(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) {
    refuse_address(path);
    return path.ends_with(".tnd");
  }
  if (!S_ISREG(status.st_mode)) return false;
  if (path.ends_with(".tnd")) return true;
  std::array<std::byte, kHeadMagic.size()> first{};
  File::open(path).read_at(first, 0);
  return std::equal(first.begin(), first.end(), std::as_bytes(std::span(kHeadMagic)).begin());
}

}  // namespace

bool is_manifest(const std::string& path) { return path.ends_with(".tnds"); }

std::shared_ptr<const Source> open_source(const std::string& path, const SourceOptions& options) {
  const bool by_bytes = options.format.empty();
  const bool is_list = options.format == "tnds" || (by_bytes && is_manifest(path));
  if (!is_list && options.format != "tnd" && !(by_bytes && is_pack(path))) {
    return open_loose(path, options);
  }
  refuse_ignored(path, "a pack", FormatChoices::none, options);
  if (is_list) return open_manifest(path);
  return Pack::open(path);
}

}  // namespace tundish
