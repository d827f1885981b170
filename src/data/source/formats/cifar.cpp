#include "data/source/formats/cifar.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include "data/source/formats/cifar_folder.h"
#include "data/source/names.h"

namespace tundish {
namespace {

constexpr const char* kFormat = "CIFAR";
constexpr std::uint64_t kPixels = 3 * 32 * 32;
constexpr std::uint64_t kRecord10 = 1 + kPixels, kRecord100 = 2 + kPixels;
constexpr std::uint64_t kMaxNames = 1 << 20;  // maximum bytes of a file with class names

bool exists(const std::string& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0;
}

// Decides by a usual name, else by the size. The size 3073 * 3074 * n fits both formats.
bool is_hundred(const std::string& path, std::uint64_t size) {
  const std::string name = path.substr(path.rfind('/') + 1);
  if (name == "train.bin" || name == "test.bin") return true;
  if (name.starts_with("data_batch_") || name == "test_batch.bin") return false;
  return size % kRecord10 != 0;
}

// Returns the nonempty lines of the file.
std::vector<std::string> read_names(const std::string& path) {
  std::vector<std::byte> bytes;
  if (!exists(path)) return {};
  read_file(bytes, path, kMaxNames);
  std::vector<std::string> out;
  std::string_view rest(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view name = trim(rest.substr(0, end), " \r\t");
    if (!name.empty()) out.emplace_back(name);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return out;
}

// The names of CIFAR-100's files are common: requires its file of class names, or a fitting size.
bool fits_hundred(const std::string& folder) {
  struct stat status;
  for (const char* name : {"train.bin", "test.bin"}) {
    if (::stat(join_path(folder, name).c_str(), &status) != 0) continue;
    if (exists(join_path(folder, "fine_label_names.txt"))) return true;
    if (status.st_size > 0 && static_cast<std::uint64_t>(status.st_size) % kRecord100 == 0) {
      return true;
    }
  }
  return false;
}

std::optional<Fault> place(std::vector<StoredArray>& out, const SharedStore& store,
                           const char* name, std::uint64_t offset, std::uint64_t record,
                           ArrayType type, std::vector<std::uint64_t> steps) {
  type.shape.insert(type.shape.begin(), store->size() / record);
  steps.insert(steps.begin(), record);
  StoredArray array{.name = name};
  auto fault = place_array(array, kFormat, {std::move(type), std::move(steps)}, store, offset, 0);
  out.push_back(std::move(array));
  return fault;
}

}  // namespace

bool looks_like_cifar(const Probe& probe) {
  if (probe.is_folder) {
    const CifarFolder found = list_cifar_folder(probe.path, ".bin");
    const bool ten = !found.missing.empty() || found.training.size() == 5;
    return ten || found.test == "test_batch.bin" || fits_hundred(probe.path);
  }
  const bool whole =
      probe.size != 0 && (probe.size % kRecord10 == 0 || probe.size % kRecord100 == 0);
  const std::string name = lower(probe.path.substr(probe.path.rfind('/') + 1));
  const bool called_so = name == "test_batch.bin" || name.starts_with("data_batch_");
  return (whole || called_so) && name.ends_with(".bin");
}

std::optional<Fault> read_cifar(std::vector<StoredArray>& out, const SharedStore& store,
                                bool hundred) {
  const std::uint64_t record = hundred ? kRecord100 : kRecord10;
  if (const std::uint64_t rest = store->size() % record; rest != 0 || store->size() == 0) {
    return damaged_source(kFormat,
                          fmt::format("{} bytes are no whole number of records of {} bytes",
                                      with_commas(store->size()), with_commas(record)),
                          store->size() - rest);
  }
  const ArrayType byte{ArrayElement::uint8, {}};
  auto fault = place(out, store, "image", record - kPixels, record,
                     {ArrayElement::uint8, {3, 32, 32}}, {32 * 32, 32, 1});
  if (!fault) fault = place(out, store, "label", hundred ? 1 : 0, record, byte, {});
  if (!fault && hundred) fault = place(out, store, "coarse_label", 0, record, byte, {});
  return fault;
}

std::shared_ptr<const Source> open_cifar(const std::string& path, const SourceOptions& options) {
  ArraySet set{.path = path, .format = kFormat, .provenance = "cifar"};
  struct stat status;
  const bool folder = ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
  std::vector<std::string> files = {path};
  if (folder) {
    CifarFolder found = list_cifar_folder(path, ".bin");
    set.warnings = check_cifar_folder(found, path, ".bin");
    files = std::move(found.training);
  }
  for (const std::string& file : files) {
    const auto store = std::make_shared<ByteStore>(file);
    std::vector<StoredArray> arrays;
    if (const auto fault = read_cifar(arrays, store, is_hundred(file, store->size()))) {
      throw Error(*fault, {.file = file});
    }
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      if (set.arrays.size() < arrays.size()) {
        set.arrays.push_back(std::move(arrays[i]));
      } else {
        append_array(set.arrays[i], arrays[i]);
      }
    }
  }
  const std::string beside = folder ? path : path.substr(0, path.rfind('/') + 1);
  const std::string names = join_path(beside.empty() ? "." : beside, "");
  if (set.arrays.size() == 2) {
    set.classes = {{"label", read_names(names + "batches.meta.txt"), "batches.meta.txt"}};
  } else {
    set.classes = {
        {"label", read_names(names + "fine_label_names.txt"), "fine_label_names.txt"},
        {"coarse_label", read_names(names + "coarse_label_names.txt"), "coarse_label_names.txt"}};
  }
  return open_stored_arrays(std::move(set), options);
}

}  // namespace tundish
