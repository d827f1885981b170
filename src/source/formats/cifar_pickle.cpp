#include "source/formats/cifar_pickle.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include "source/arrays/stored_array_source.h"
#include "source/names.h"
#include "source/pickle/pickle_arrays.h"

namespace tundish {
namespace {

constexpr const char* kFormat = "CIFAR (Python)";
constexpr std::uint64_t kMaxFile = 256ull << 20;

bool exists(const std::string& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

struct PickleFile {
  std::string path;
  std::vector<std::byte> bytes;
  Pickle pickle;

  explicit PickleFile(const std::string& file) : path(file) {
    read_file(bytes, path, kMaxFile);
    if (const auto fault = pickle.read(bytes, kFormat)) throw Error(*fault, {.file = path});
  }
  [[noreturn]] void damaged(const char* reason) const {
    throw Error(damaged_source(kFormat, reason, 0), {.file = path});
  }
};

// Read where they lie: (N, 3072) as (N, 3, 32, 32).
StoredArray read_images(const PickleFile& file) {
  const PickleValue* data = file.pickle.find(file.pickle.root(), "data");
  const auto array = data ? read_numpy(file.pickle, *data) : std::nullopt;
  if (!array || array->layout.type.element != ArrayElement::uint8 ||
      array->layout.type.shape.size() != 2 || array->layout.type.shape[1] != 3072 ||
      array->layout.steps[1] != 1) {
    file.damaged("it has no array 'data' of uint8 (N, 3072)");
  }
  ArrayLayout layout = array->layout;
  layout.type.shape = {layout.type.shape[0], 3, 32, 32};
  layout.steps = {3072, 1024, 32, 1};
  const auto place = file.pickle.place(array->bytes);
  SharedStore store;
  if (place) {
    store = std::make_shared<ByteStore>(file.path);
  } else {
    const std::string_view text = file.pickle.text(array->bytes);
    const Bytes bytes = std::as_bytes(std::span(text));
    store =
        std::make_shared<ByteStore>(std::vector<std::byte>(bytes.begin(), bytes.end()), file.path);
  }
  StoredArray out{.name = "image"};
  if (const auto fault = place_array(out, kFormat, layout, store, place.value_or(0), 0)) {
    throw Error(*fault, {.file = file.path});
  }
  return out;
}

// Empty when the file has no such list.
std::optional<StoredArray> read_labels(const PickleFile& file, const char* key, const char* name,
                                       std::uint64_t count) {
  const PickleValue* list = file.pickle.find(file.pickle.root(), key);
  if (!list) return std::nullopt;
  if (!list->is(PickleKind::list)) file.damaged("its labels are not a list");
  const auto& items = file.pickle.items(*list);
  std::vector<std::byte> bytes(8 * items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto label = read_integer(file.pickle, items[i]);
    if (!label) file.damaged("a label is not an integer");
    store<std::int64_t>(&bytes[8 * i], *label);
  }
  if (items.size() != count) file.damaged("there are not as many labels as images");
  StoredArray out{.name = name};
  const auto memory = std::make_shared<ByteStore>(std::move(bytes), file.path);
  ArrayLayout layout;
  layout.type.element = ArrayElement::int64;
  layout.type.shape.push_back(count);
  layout.steps.push_back(sizeof(std::int64_t));
  if (const auto fault = place_array(out, kFormat, layout, memory, 0, 0)) {
    throw Error(*fault, {.file = file.path});
  }
  return out;
}

void add_file(ArraySet& set, const std::string& path) {
  const PickleFile file(path);
  std::vector<StoredArray> arrays = {read_images(file)};
  const std::uint64_t count = arrays[0].count;
  for (const auto& [key, name] : {std::pair{"labels", "label"}, std::pair{"fine_labels", "label"},
                                  std::pair{"coarse_labels", "coarse_label"}}) {
    if (auto labels = read_labels(file, key, name, count)) arrays.push_back(std::move(*labels));
  }
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (set.arrays.size() < arrays.size()) {
      set.arrays.push_back(std::move(arrays[i]));
    } else if (set.arrays.size() != arrays.size() || !append_array(set.arrays[i], arrays[i])) {
      file.damaged("it is another kind of batch than those before");
    }
  }
}

std::vector<std::string> read_names(const std::string& path, const char* key) {
  if (!exists(path)) return {};
  const PickleFile file(path);
  std::vector<std::string> out;
  if (const PickleValue* names = file.pickle.find(file.pickle.root(), key)) {
    for (const PickleValue& name : file.pickle.items(*names)) {
      out.emplace_back(file.pickle.text(name));
    }
  }
  return out;
}

std::vector<std::string> training_files(const std::string& folder) {
  std::vector<std::string> out;
  for (int i = 1; i <= 5; ++i) {
    std::string path = join_path(folder, fmt::format("data_batch_{}", i));
    if (exists(path)) out.push_back(std::move(path));
  }
  if (!out.empty()) return out;
  if (std::string path = join_path(folder, "train"); exists(path)) return {path};
  return {};
}

}  // namespace

bool looks_like_cifar_pickle(const Probe& probe) {
  if (probe.is_folder) {
    return (probe.has("batches.meta") || probe.has("meta")) && !training_files(probe.path).empty();
  }
  const std::string name = probe.path.substr(probe.path.rfind('/') + 1);
  const bool called_so = name == "train" || name == "test" || name == "test_batch" ||
                         (name.starts_with("data_batch_") && name.size() == 12);
  return called_so && probe.text().starts_with('\x80');
}

std::shared_ptr<const Source> open_cifar_pickle(const std::string& path,
                                                const SourceOptions& options) {
  ArraySet set{.path = path, .format = kFormat, .provenance = "cifar"};
  struct stat status;
  const bool folder = ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
  const auto files = folder ? training_files(path) : std::vector<std::string>{path};
  if (files.empty()) {
    throw Error(ErrorCode::source_empty, {.file = path}, "it has no data_batch_1 or train");
  }
  if (folder) {
    set.warnings.push_back(
        "a folder of CIFAR: this is its training set; the test set is the file "
        "test_batch or test");
  }
  for (const std::string& file : files) add_file(set, file);
  const std::string parent = path.substr(0, path.rfind('/') + 1);
  const std::string beside = folder ? path : parent.empty() ? "." : parent;
  set.classes = read_names(join_path(beside, "batches.meta"), "label_names");
  if (set.classes.empty()) {
    set.classes = read_names(join_path(beside, "meta"), "fine_label_names");
  }
  return open_stored_arrays(std::move(set), options);
}

}  // namespace tundish
