#include "data/source/formats/cifar_pickle.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/file.h"
#include "data/source/arrays/stored_array_source.h"
#include "data/source/formats/cifar_folder.h"
#include "data/source/names.h"
#include "data/source/pickle/pickle_arrays.h"

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
  Pickle pickle;

  PickleFile(Bytes bytes, const std::string& file) : path(file) {
    if (const auto fault = pickle.read(bytes, kFormat)) throw Error(*fault, {.file = path});
  }
  [[noreturn]] void damaged(const char* reason) const {
    throw Error(damaged_source(kFormat, reason, 0), {.file = path});
  }
};

// Reads the images in place: (N, 3072) as (N, 3, 32, 32).
StoredArray read_images(const PickleFile& file, const SharedStore& whole) {
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
    store = whole;
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

// Returns empty if the file has no such list.
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

void add_names(ArraySet& set, const std::string& folder, const char* array, const char* name,
               const char* key) {
  const std::string path = join_path(folder, name);
  if (!exists(path)) return;
  std::vector<std::byte> bytes;
  read_file(bytes, path, kMaxFile);
  const PickleFile file(bytes, path);
  std::vector<std::string> out;
  if (const PickleValue* names = file.pickle.find(file.pickle.root(), key)) {
    for (const PickleValue& name : file.pickle.items(*names)) {
      out.emplace_back(file.pickle.text(name));
    }
  }
  if (!out.empty()) set.classes.push_back({array, std::move(out), name});
}

bool begins_as_pickle(const std::string& path) {
  std::byte first[1];
  try {
    return File::open(path).read_at(first, 0) == 1 && first[0] == std::byte{0x80};
  } catch (const Error&) {
    return false;  // a file in an unrelated folder
  }
}

}  // namespace

void add_cifar_batch(ArraySet& set, Bytes pickle, const SharedStore& store) {
  const PickleFile file(pickle, store->path());
  std::vector<StoredArray> arrays = {read_images(file, store)};
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

bool looks_like_cifar_pickle(const Probe& probe) {
  if (probe.is_folder) {
    const CifarFolder found = list_cifar_folder(probe.path, "");
    const std::string test = found.test.empty() ? "" : join_path(probe.path, found.test);
    if (found.training.empty() && test.empty()) return false;
    return probe.has("batches.meta") || probe.has("meta") ||
           begins_as_pickle(found.training.empty() ? test : found.training[0]);
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
  std::vector<std::string> files = {path};
  if (folder) {
    CifarFolder found = list_cifar_folder(path, "");
    set.warnings = check_cifar_folder(found, path, "");
    files = std::move(found.training);
  }
  std::vector<std::byte> bytes;
  for (const std::string& file : files) {
    read_file(bytes, file, kMaxFile);
    add_cifar_batch(set, bytes, std::make_shared<ByteStore>(file));
  }
  const std::string parent = path.substr(0, path.rfind('/') + 1);
  const std::string beside = folder ? path : parent.empty() ? "." : parent;
  add_names(set, beside, "label", "batches.meta", "label_names");
  if (set.classes.empty()) {
    add_names(set, beside, "label", "meta", "fine_label_names");
    add_names(set, beside, "coarse_label", "meta", "coarse_label_names");
  }
  return open_stored_arrays(std::move(set), options);
}

}  // namespace tundish
