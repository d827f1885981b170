// Tensors of torch.save() files: a storage, an offset, sides and strides in elements.
#include <fmt/format.h>

#include "data/source/format.h"
#include "data/source/formats/pth/pth_columns.h"
#include "data/source/pickle/pickle_arrays.h"

namespace tundish {
namespace {

constexpr std::string_view kRebuild = "torch._utils._rebuild_tensor";

// Returns the call that builds a tensor; for a parameter, this call is nested.
PickleValue inner(const Pickle& pickle, PickleValue value) {
  if (pickle.calls(value) == "torch._utils._rebuild_parameter") {
    const auto& arguments = pickle.items(pickle.object(value).arguments);
    if (!arguments.empty()) value = arguments[0];
  }
  return value;
}

Fault damaged(const char* reason) { return damaged_source(kPthFormat, reason, 0); }

// Parses ("storage", class, key, place, number of elements).
std::optional<Fault> find_storage(const PthFile::Storage*& out,
                                  std::optional<ArrayElement>& element, const PthFile& file,
                                  const PickleValue& value) {
  if (!value.is(PickleKind::persistent)) return damaged("a tensor has no storage");
  const Pickle& pickle = file.pickle;
  const auto& id = pickle.items(pickle.items(value)[0]);
  if (id.size() < 5 || pickle.text(id[0]) != "storage") return damaged("a storage has no key");
  const auto found = file.storages.find(std::string(pickle.text(id[2])));
  if (found == file.storages.end()) {
    return damaged_source(
        kPthFormat,
        fmt::format("storage '{}' is missing", printable(std::string(pickle.text(id[2])))), 0);
  }
  out = &found->second;
  element = torch_element(pickle.text(id[1]));
  return std::nullopt;
}

// Metadata change how torch reads the elements: negated or conjugated. Only empty ones are read.
bool has_metadata(const Pickle& pickle, const std::vector<PickleValue>& arguments,
                  std::size_t place) {
  if (arguments.size() <= place || arguments[place].is(PickleKind::none)) return false;
  return !arguments[place].is(PickleKind::dict) || !pickle.items(arguments[place]).empty();
}

std::optional<Fault> find_torch(PlacedTensor& out, const PthFile& file, const PickleValue& value) {
  const Pickle& pickle = file.pickle;
  const auto& arguments = pickle.items(pickle.object(value).arguments);
  if (arguments.size() < 4) return damaged("a tensor lacks arguments");
  const bool typed = pickle.calls(value).ends_with("_v3");
  if (has_metadata(pickle, arguments, typed ? 7 : 6)) {
    return unsupported_source(kPthFormat,
                              "a tensor with a negative or conjugate bit: save "
                              "tensor.resolve_neg().resolve_conj() instead");
  }
  const PthFile::Storage* storage = nullptr;
  std::optional<ArrayElement> element;
  if (auto fault = find_storage(storage, element, file, arguments[0])) return fault;
  if (typed && arguments.size() > 6) {
    element = torch_element(pickle.text(arguments[6]));
  }
  if (!element) return unsupported_source(kPthFormat, "a tensor of a type that is not read");
  const auto sides = read_sides(pickle, arguments[2]);
  const auto strides = read_sides(pickle, arguments[3]);
  if (!sides || !strides || sides->size() != strides->size() ||
      !arguments[1].is(PickleKind::integer) || arguments[1].number < 0) {
    return damaged("a tensor's sides, strides or offset are not numbers");
  }
  const std::uint64_t width = element_bytes(*element);
  out.layout = {{*element, *sides}, {}, file.big_endian};
  out.store = storage->store;
  bool over =
      __builtin_mul_overflow(static_cast<std::uint64_t>(arguments[1].number), width, &out.offset);
  for (const std::uint64_t stride : *strides) {
    over |= __builtin_mul_overflow(stride, width, &out.layout.steps.emplace_back());
  }
  const auto span = layout_span(out.layout);
  if (over || !span || !range_fits(out.offset, *span, storage->bytes)) {
    return damaged_source(kPthFormat, "a tensor leaves its storage", storage->offset);
  }
  out.offset += storage->offset;
  return std::nullopt;
}

}  // namespace

bool is_tensor(const PthFile& file, const PickleValue& value) {
  const PickleValue call = inner(file.pickle, value);
  return file.pickle.calls(call).starts_with(kRebuild) || read_numpy(file.pickle, call).has_value();
}

std::optional<Fault> find_tensor(PlacedTensor& out, PthFile& file, const PickleValue& value) {
  const PickleValue call = inner(file.pickle, value);
  if (file.pickle.calls(call).starts_with(kRebuild)) return find_torch(out, file, call);
  const auto array = read_numpy(file.pickle, call);
  if (!array) return damaged("a value is not a tensor");
  out.layout = array->layout;
  if (const auto place = file.pickle.place(array->bytes)) {
    out.store = file.pickle_store;
    out.offset = file.pickle_offset + *place;
    return std::nullopt;
  }
  SharedStore& decoded = file.decoded[array->bytes.number];  // decoded once, then reused
  if (!decoded) {
    const std::string_view text = file.pickle.text(array->bytes);
    const Bytes bytes = std::as_bytes(std::span(text));
    decoded = std::make_shared<ByteStore>(std::vector<std::byte>(bytes.begin(), bytes.end()),
                                          file.store->path());
  }
  out.store = decoded;
  out.offset = 0;
  return std::nullopt;
}

}  // namespace tundish
