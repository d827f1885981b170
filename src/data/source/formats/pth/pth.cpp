#include "data/source/formats/pth/pth.h"

#include "data/source/formats/pth/pth_columns.h"
#include "data/source/names.h"

namespace tundish {

bool looks_like_pth(const Probe& probe) {
  if (begins_as_legacy_pth(probe.first)) return true;
  const std::string_view text = probe.text();
  if (text.starts_with("PK\x03\x04") && text.size() >= 30) {
    const std::size_t name = load<std::uint16_t>(&probe.first[26]);
    if (text.substr(30).substr(0, name).ends_with("/data.pkl")) return true;
  }
  const std::string path = lower(probe.path);
  return !probe.is_folder && (path.ends_with(".pth") || path.ends_with(".pt"));
}

std::shared_ptr<const Source> open_pth(const std::string& path, const SourceOptions& options) {
  ArraySet set{.path = path, .format = kPthFormat, .provenance = "pth"};
  PthFile file;
  read_pth_file(file, std::make_shared<ByteStore>(path), set.memory_left);
  add_columns(set, file, options.axis);
  return open_stored_arrays(std::move(set), options);
}

}  // namespace tundish
