#include "data/source/formats/pth/pth_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include "base/interruption.h"
#include "data/source/format.h"
#include "data/source/pickle/pickle_arrays.h"

namespace tundish {
namespace {

using Values = std::vector<PickleValue>;

std::string name_of(std::size_t number) {
  return number == 0 ? "image" : number == 1 ? "label" : fmt::format("field_{}", number);
}

// Returns a Python number, or NumPy's integer; empty for other values.
std::optional<PickleValue> number_of(const Pickle& pickle, const PickleValue& value) {
  if (value.is(PickleKind::real)) return value;
  const auto whole = read_integer(pickle, value);
  return whole ? std::optional(PickleValue{PickleKind::integer, *whole}) : std::nullopt;
}

class Columns {
 public:
  Columns(ArraySet& set, PthFile& file, std::int64_t axis)
      : set_(set), file_(file), pickle_(file.pickle), axis_(axis) {}

  void add() {
    const PickleValue& root = pickle_.root();
    const Values& items = pickle_.items(root);
    if (is_tensor(file_, root)) return add_array("image", root);
    if (root.is(PickleKind::dict)) {
      const Values entries = entries_of(root);
      check_count(entries.size() / 2);
      for (std::size_t i = 0; i < entries.size(); i += 2) {
        add_array(key_of(entries[i]), entries[i + 1]);
      }
      return;
    }
    if (!root.is(PickleKind::tuple) && !root.is(PickleKind::list)) {
      fail(unsupported_source(kPthFormat, "it holds no tensors"));
    }
    if (items.empty()) return;
    if (root.is(PickleKind::list) && one_per_sample(items)) return add_samples(items);
    check_count(items.size());
    for (std::size_t i = 0; i < items.size(); ++i) add_array(name_of(i), items[i]);
  }

 private:
  [[noreturn]] void fail(const Fault& fault) const {
    throw Error(fault, {.file = file_.store->path()});
  }

  [[noreturn]] void refuse_sample(std::size_t i, const char* reason) const {
    fail(unsupported_source(kPthFormat, fmt::format("sample {} {}", i, reason)));
  }

  void check_count(std::size_t arrays) const {
    if (arrays <= kMaxArrays) return;
    fail(unsupported_source(kPthFormat, fmt::format("over {} values", with_commas(kMaxArrays))));
  }

  // Returns a dict key as a name; other types of keys would all get the same name.
  std::string key_of(const PickleValue& key) const {
    if (key.is(PickleKind::integer)) return std::to_string(key.number);
    if (key.is(PickleKind::boolean)) return key.number != 0 ? "True" : "False";
    if (key.is(PickleKind::real)) return fmt::format("{}", pickle_.real(key));
    if (!key.is(PickleKind::text) && !key.is(PickleKind::bytes)) {
      fail(unsupported_source(kPthFormat, "a key of a dict is neither a text nor a number"));
    }
    return std::string(pickle_.text(key));
  }

  // Returns keys and values of a dict as Python builds it: among equal keys, the last value counts,
  // at the place of the first key.
  Values entries_of(const PickleValue& dict) const {
    const Values& items = pickle_.items(dict);
    std::map<std::pair<PickleKind, std::string>, std::size_t> places;  // indexes of values in `out`
    Values out;
    for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
      const auto [found, is_new] =
          places.try_emplace({items[i].kind, key_of(items[i])}, out.size() + 1);
      if (is_new) {
        out.insert(out.end(), {items[i], items[i + 1]});
      } else {
        out[found->second] = items[i + 1];
      }
    }
    return out;
  }

  // Returns true unless the list is [images, labels, ...]. Throws Error for tensors that differ
  // only in their sides: images of several sizes would become the rows of the first one.
  bool one_per_sample(const Values& items) const {
    PlacedTensor first, other;
    if (!is_tensor(file_, items[0]) || find_tensor(first, file_, items[0])) return true;
    const ArrayType& type = first.layout.type;
    std::size_t differs = 0;  // first tensor with another type
    bool same_count = true, columns = false;
    for (std::size_t i = 1; i < items.size(); ++i) {
      other = {};
      if (!is_tensor(file_, items[i]) || find_tensor(other, file_, items[i])) return true;
      const ArrayType& here = other.layout.type;
      if (differs == 0 && here != type) differs = i;
      same_count = same_count && count_of(here) == count_of(type);
      columns = columns || here.element != type.element || here.shape.size() != type.shape.size() ||
                (here.shape.size() == 2 && here.shape[1] == 1);  // one number per sample
    }
    if (differs == 0) return true;
    if (!same_count || !columns) refuse_differing(items, differs);
    return false;
  }

  // Returns the number of samples of a column.
  std::uint64_t count_of(const ArrayType& type) const {
    const auto axes = static_cast<std::int64_t>(type.shape.size());
    const std::int64_t axis = axes == 1 ? 0 : axis_ < 0 ? axis_ + axes : axis_;
    return axis < 0 || axis >= axes ? 0 : type.shape[static_cast<std::size_t>(axis)];
  }

  [[noreturn]] void refuse_differing(const Values& items, std::size_t i) const {
    PlacedTensor first, other;
    find_tensor(first, file_, items[0]);
    find_tensor(other, file_, items[i]);
    fail(unsupported_source(
        kPthFormat,
        fmt::format(
            "a list of tensors that differ: 0 is {}, {} is {}; the samples of a file have one "
            "type and shape. Images of several sizes are packed in Python: "
            "tundish.pack(torch.load(FILE), \"train.tnd\"); columns, such as images and masks, "
            "are saved as a tuple or a dict",
            array_text(first.layout.type), i, array_text(other.layout.type))));
  }

  void put(StoredArray array) {
    const auto same = [&](const StoredArray& other) { return other.name == array.name; };
    if (std::any_of(set_.arrays.begin(), set_.arrays.end(), same)) {
      fail(damaged_source(kPthFormat, fmt::format("'{}' appears twice", printable(array.name)), 0));
    }
    set_.arrays.push_back(std::move(array));
  }

  // Adds a tensor whose axis counts the samples, or a list with a number for each sample.
  void add_array(const std::string& name, const PickleValue& value) {
    check_stop(file_.store->path());
    StoredArray array{.name = name};
    std::optional<Fault> fault;
    if (is_tensor(file_, value)) {
      PlacedTensor tensor;
      fault = find_tensor(tensor, file_, value);
      const std::int64_t axis = tensor.layout.type.shape.size() == 1 ? 0 : axis_;
      if (!fault) {
        fault = place_array(array, kPthFormat, tensor.layout, tensor.store, tensor.offset, axis);
      }
    } else if (const Values numbers = numbers_of(value); !numbers.empty()) {
      array = numbers_array(name, numbers);
    } else {
      fault = unsupported_source(kPthFormat, "it is not a tensor");
    }
    if (!fault) return put(std::move(array));
    if (fault->code != ErrorCode::format_unsupported) fail(*fault);
    set_.warnings.push_back(fmt::format("'{}' is left out: {}", printable(name), fault->reason));
  }

  // Returns the numbers of a list that holds nothing else; empty for other values.
  Values numbers_of(const PickleValue& value) const {
    Values out;
    if (!value.is(PickleKind::list)) return out;
    for (const PickleValue& item : pickle_.items(value)) {
      const auto number = number_of(pickle_, item);
      if (!number) return {};
      out.push_back(*number);
    }
    return out;
  }

  // Uses int64 for whole numbers, otherwise doubles.
  StoredArray numbers_array(const std::string& name, const Values& numbers) {
    const bool real = std::any_of(numbers.begin(), numbers.end(), [](const PickleValue& value) {
      return value.is(PickleKind::real);
    });
    std::vector<std::byte> bytes(8 * numbers.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const bool whole = !numbers[i].is(PickleKind::real);
      std::int64_t bits = numbers[i].number;
      if (real && whole) bits = std::bit_cast<std::int64_t>(static_cast<double>(bits));
      store<std::int64_t>(&bytes[8 * i], bits);
    }
    StoredArray out{.name = name};
    const ArrayType type{real ? ArrayElement::float64 : ArrayElement::int64, {numbers.size()}};
    const auto memory = std::make_shared<ByteStore>(std::move(bytes), file_.store->path());
    if (const auto fault = place_array(out, kPthFormat, {type, {8}}, memory, 0, 0)) fail(*fault);
    return out;
  }

  // Returns the values of one sample, and their names.
  Values values_of(const PickleValue& sample, std::vector<std::string>* names) const {
    const Values& items = pickle_.items(sample);
    Values out;
    if (sample.is(PickleKind::dict)) {
      const Values entries = entries_of(sample);
      for (std::size_t i = 0; i < entries.size(); i += 2) {
        out.push_back(entries[i + 1]);
        if (names) names->push_back(key_of(entries[i]));
      }
      return out;
    }
    const bool several = sample.is(PickleKind::tuple) || sample.is(PickleKind::list);
    out = several ? items : Values{sample};
    for (std::size_t i = 0; names && i < out.size(); ++i) names->push_back(name_of(i));
    return out;
  }

  void add_samples(const Values& samples) {
    std::vector<std::string> names;
    const std::size_t width = values_of(samples[0], &names).size();
    if (width > kMaxFields) refuse_sample(0, "has over 64 values");
    std::vector<StoredArray> tensors(width);
    std::vector<Values> numbers(width);
    for (std::size_t i = 0; i < samples.size(); ++i) {
      check_stop(file_.store->path());
      std::vector<std::string> own;
      const Values values = values_of(samples[i], samples[i].is(PickleKind::dict) ? &own : nullptr);
      if (values.size() != width || (!own.empty() && own != names)) {
        refuse_sample(i, "has other values than sample 0");
      }
      for (std::size_t c = 0; c < width; ++c) {
        if (const auto number = number_of(pickle_, values[c])) {
          numbers[c].push_back(*number);
        } else {
          append(tensors[c], values[c], i);
        }
      }
    }
    for (std::size_t c = 0; c < width; ++c) {
      if (numbers[c].size() == samples.size()) {
        put(numbers_array(names[c], numbers[c]));
      } else if (tensors[c].count == samples.size()) {
        tensors[c].name = names[c];
        put(std::move(tensors[c]));
      } else {
        set_.warnings.push_back(
            fmt::format("'{}' is left out: not all are tensors", printable(names[c])));
      }
    }
  }

  // Appends one sample.
  void append(StoredArray& to, const PickleValue& value, std::size_t i) {
    if (!is_tensor(file_, value)) return;
    PlacedTensor tensor;
    if (const auto fault = find_tensor(tensor, file_, value)) fail(*fault);
    tensor.layout.type.shape.insert(tensor.layout.type.shape.begin(), 1);
    tensor.layout.steps.insert(tensor.layout.steps.begin(), 0);
    StoredArray one;
    if (const auto fault =
            place_array(one, kPthFormat, tensor.layout, tensor.store, tensor.offset, 0)) {
      fail(*fault);
    }
    if (to.count == 0) {
      to = std::move(one);
    } else if (!append_array(to, one)) {
      refuse_sample(i, "has another shape, type or order than sample 0");
    }
  }

  ArraySet& set_;
  PthFile& file_;
  const Pickle& pickle_;
  std::int64_t axis_;
};

}  // namespace

void add_columns(ArraySet& set, PthFile& file, std::int64_t axis) {
  Columns(set, file, axis).add();
}

}  // namespace tundish
