#include "source/formats/cifar.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include "source/names.h"

namespace tundish {
namespace {

constexpr const char* kFormat = "CIFAR";
constexpr std::uint64_t kPixels = 3 * 32 * 32;
constexpr std::uint64_t kRecord10 = 1 + kPixels, kRecord100 = 2 + kPixels;
constexpr std::uint64_t kMaxNames = 1 << 20;  // bytes of a file of class names

bool exists(const std::string& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0;
}

// By its name where it has the usual one, else by its size. A size can be both: 3073 * 3074 * n.
bool is_hundred(const std::string& path, std::uint64_t size) {
  const std::string name = path.substr(path.rfind('/') + 1);
  if (name == "train.bin" || name == "test.bin") return true;
  if (name.starts_with("data_batch_") || name == "test_batch.bin") return false;
  return size % kRecord10 != 0;
}

// The lines of the file that are not empty.
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

// The files of a folder's training set.
std::vector<std::string> training_files(const std::string& folder) {
  std::vector<std::string> out;
  for (int i = 1; i <= 5; ++i) {
    std::string path = join_path(folder, fmt::format("data_batch_{}.bin", i));
    if (exists(path)) out.push_back(std::move(path));
  }
  if (!out.empty()) return out;
  if (std::string path = join_path(folder, "train.bin"); exists(path)) return {path};
  return {};
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
    return probe.has("data_batch_1.bin") ||
           (probe.has("train.bin") && probe.has("fine_label_names.txt"));
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
  const std::vector<std::string> files =
      folder ? training_files(path) : std::vector<std::string>{path};
  if (files.empty()) {
    throw Error(ErrorCode::source_empty, {.file = path}, "it has no data_batch_1.bin or train.bin");
  }
  if (folder) {
    set.warnings.push_back(
        "a folder of CIFAR: this is its training set; the test set is the file "
        "test_batch.bin or test.bin");
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
  const bool hundred = set.arrays.size() == 3;
  set.classes = read_names(join_path(beside.empty() ? "." : beside,
                                     hundred ? "fine_label_names.txt" : "batches.meta.txt"));
  return open_stored_arrays(std::move(set), options);
}

}  // namespace tundish
