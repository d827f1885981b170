#include "data/source/formats/idx.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>

#include "data/source/arrays/stored_array_source.h"
#include "data/source/arrays/unpack.h"
#include "data/source/names.h"

namespace tundish {
namespace {

constexpr const char* kFormat = "IDX";
constexpr std::array<const char*, 3> kEndings = {"", ".gz", ".xz"};

bool exists(const std::string& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0;
}

// Matches two zero bytes, a known type, 1 to 4 axes, and nonzero sides.
bool begins_as_idx(Bytes first) {
  if (first.size() < 8 || first[0] != std::byte{0} || first[1] != std::byte{0}) return false;
  const auto type = std::to_integer<int>(first[2]), axes = std::to_integer<int>(first[3]);
  const bool known = type >= 0x08 && type <= 0x0e && type != 0x0a;
  return known && axes >= 1 && axes <= 4 && load<std::uint32_t>(&first[4]) != 0;
}

// Finds the images of a set in a folder: NAME-images-idx3-ubyte, or its usual variants. Empty if
// missing.
std::string find_images(const std::string& folder, const std::string& set) {
  for (const char* name : {"-images-idx3-ubyte", "-images.idx3-ubyte"}) {
    for (const char* ending : kEndings) {
      const std::string path = join_path(folder, set + name + ending);
      if (exists(path)) return path;
    }
  }
  return "";
}

std::string training_images(const std::string& folder) { return find_images(folder, "train"); }

// Returns other sets of MNIST and EMNIST in a folder without "train".
std::vector<std::string> other_sets(const std::string& folder) {
  std::vector<std::string> out;
  for (const char* set :
       {"t10k", "emnist-balanced-train", "emnist-byclass-train", "emnist-bymerge-train",
        "emnist-digits-train", "emnist-letters-train", "emnist-mnist-train"}) {
    if (std::string path = find_images(folder, set); !path.empty()) out.push_back(std::move(path));
  }
  return out;
}

// Returns the labels file for .../emnist-letters-train-images-idx3-ubyte.gz; empty if
// missing.
std::string labels_beside(const std::string& images) {
  const std::size_t name = images.rfind('/') + 1;  // npos + 1 is 0
  for (const std::string_view tail : {"images-idx3-ubyte", "images.idx3-ubyte"}) {
    const std::size_t at = images.find(tail, name);
    if (at == std::string::npos) continue;
    const std::string plain = images.substr(0, at) + "labels" + tail[6] + std::string("idx1-ubyte");
    for (const char* ending : kEndings) {
      if (exists(plain + ending)) return plain + ending;
    }
  }
  return "";
}

std::optional<std::uint64_t> declared_bytes(Bytes first) {
  ArrayLayout layout;
  std::size_t data = 0;
  if (read_idx_layout(layout, data, first)) return std::nullopt;
  return std::min(array_bytes(layout.type).value_or(kMaxUnpackedBytes), kMaxUnpackedBytes) + data;
}

StoredArray open_array(ArraySet& set, const std::string& path, std::string name,
                       std::int64_t axis) {
  const SharedStore store = open_unpacked(path, kFormat, set.memory_left, declared_bytes);
  std::vector<std::byte> first(std::min<std::uint64_t>(260, store->size()));
  store->read_at(first, 0);
  ArrayLayout layout;
  std::size_t data = 0;
  StoredArray array{.name = std::move(name)};
  std::optional<Fault> fault = read_idx_layout(layout, data, first);
  if (!fault) {
    if (layout.type.shape.size() == 1) axis = 0;
    fault = place_array(array, kFormat, layout, store, data, axis);
  }
  if (!fault) {
    const std::uint64_t end = data + *array_bytes(layout.type);
    if (end != store->size()) {
      fault = damaged_source(
          kFormat, fmt::format("{} bytes follow the elements", with_commas(store->size() - end)),
          end);
    }
  }
  if (fault) throw Error(*fault, {.file = path});
  return array;
}

}  // namespace

bool looks_like_idx(const Probe& probe) {
  if (probe.is_folder) {
    return !training_images(probe.path).empty() || !other_sets(probe.path).empty();
  }
  const std::string name = lower(probe.path.substr(probe.path.rfind('/') + 1));  // npos + 1 is 0
  const bool called_so =
      name.find("-idx1") != std::string::npos || name.find("-idx3") != std::string::npos ||
      name.find(".idx1-") != std::string::npos || name.find(".idx3-") != std::string::npos;
  return called_so || begins_as_idx(probe.first);
}

std::optional<Fault> read_idx_layout(ArrayLayout& out, std::size_t& data, Bytes first) {
  // Indexed by the type's byte; 0x0a is unused.
  constexpr std::array<std::optional<ArrayElement>, 7> kTypes = {
      ArrayElement::uint8, ArrayElement::int8,    std::nullopt,         ArrayElement::int16,
      ArrayElement::int32, ArrayElement::float32, ArrayElement::float64};
  if (first.size() < 4)
    return damaged_source(kFormat, "the file ends inside its head", first.size());
  const auto type = std::to_integer<std::size_t>(first[2]);
  if (first[0] != std::byte{0} || first[1] != std::byte{0} || type < 8 || type > 14 ||
      !kTypes[type - 8]) {
    return damaged_source(kFormat, "it does not begin as an IDX file", 0);
  }
  const auto axes = std::to_integer<std::size_t>(first[3]);
  if (axes > kMaxArraySides) return unsupported_source(kFormat, fmt::format("{} axes", axes), 3);
  data = 4 + 4 * axes;
  if (first.size() < data) {
    return damaged_source(kFormat, "the file ends inside its head", first.size());
  }
  out.type = {*kTypes[type - 8], {}};
  for (std::size_t axis = 0; axis < axes; ++axis) {
    out.type.shape.push_back(__builtin_bswap32(load<std::uint32_t>(&first[4 + 4 * axis])));
  }
  out.big_endian = true;
  const auto steps = c_order_steps(out.type);
  if (!steps) return damaged_source(kFormat, "its shape is over 64 bits", 4);
  out.steps = *steps;
  return std::nullopt;
}

std::shared_ptr<const Source> open_idx(const std::string& path, const SourceOptions& options) {
  ArraySet set{.path = path, .format = kFormat, .provenance = "idx"};
  struct stat status;
  std::string images = path;
  if (::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) {
    images = training_images(path);
    if (images.empty()) {
      throw Error(ErrorCode::source_empty, {.file = path},
                  fmt::format("it has no train-images-idx3-ubyte; give one of its files: {}",
                              fmt::join(other_sets(path), ", ")));
    }
    if (const std::string test = find_images(path, "t10k"); !test.empty()) {
      set.warnings.push_back(
          fmt::format("a folder of MNIST: this is its training set; the test set is the file {}",
                      test.substr(test.rfind('/') + 1)));
    }
  }
  set.arrays.push_back(open_array(set, images, "image", options.axis));
  if (set.arrays[0].type.shape.empty()) set.arrays[0].name = "label";
  if (const std::string labels = labels_beside(images); !labels.empty()) {
    set.arrays.push_back(open_array(set, labels, "label", 0));
  }
  return open_stored_arrays(std::move(set), options);
}

}  // namespace tundish
