#include "data/source/formats/npy_arrays.h"

#include <sys/stat.h>

#include <algorithm>

#include "data/source/arrays/npy_layout.h"
#include "data/source/arrays/stored_array_source.h"
#include "data/source/names.h"

namespace tundish {
namespace {

constexpr const char* kFormat = "NumPy .npy";

StoredArray open_array(const std::string& path, std::string name, std::int64_t axis) {
  const auto store = std::make_shared<ByteStore>(path);
  std::vector<std::byte> first(std::min<std::uint64_t>(kMaxNpyHead, store->size()));
  store->read_at(first, 0);
  ArrayLayout layout;
  std::size_t data = 0;
  StoredArray array{.name = std::move(name)};
  std::optional<Fault> fault = read_npy_layout(layout, data, first);
  if (!fault) {
    if (layout.type.shape.size() == 1) axis = 0;
    fault = place_array(array, kFormat, layout, store, data, axis);
  }
  if (fault) throw Error(*fault, {.file = path});
  return array;
}

void add_labels(ArraySet& set) {
  const std::string& path = set.path;
  const std::size_t name = path.rfind('/') + 1;  // npos + 1 is 0
  for (const std::string& labels : npy_label_files(path)) {
    struct stat status;
    if (labels == path || ::stat(labels.c_str(), &status) != 0) continue;
    StoredArray array = open_array(labels, "label", 0);
    if (array.count == set.arrays[0].count) {
      set.arrays.push_back(std::move(array));
      return;
    }
    set.warnings.push_back("the file " + printable(labels.substr(name)) + " beside it has " +
                           with_commas(array.count) + " entries and is not used as its labels");
  }
}

}  // namespace

std::vector<std::string> npy_label_files(const std::string& path) {
  const std::string stem = path.substr(0, path.size() - 4);
  const std::string folder = path.substr(0, path.rfind('/') + 1);  // npos + 1 is 0
  return {stem + "_labels.npy", folder + "labels.npy", folder + "label.npy", folder + "y.npy"};
}

bool looks_like_npy(const Probe& probe) { return begins_as_npy(probe.first); }

std::shared_ptr<const Source> open_npy(const std::string& path, const SourceOptions& options) {
  ArraySet set{.path = path, .format = kFormat, .provenance = "npy"};
  set.arrays.push_back(open_array(path, "image", options.axis));
  if (lower(path).ends_with(".npy")) add_labels(set);
  return open_stored_arrays(std::move(set), options);
}

}  // namespace tundish
