#include "data/source/pickle/pickle_arrays.h"

#include <array>

#include "data/source/arrays/array_fields.h"
#include "data/source/arrays/npy_layout.h"

namespace tundish {
namespace {

// Parses numpy.dtype("u1", False, True) with the state (3, "<", None, ...).
bool read_dtype(ArrayLayout& out, const Pickle& pickle, const PickleValue& value) {
  if (pickle.calls(value) != "numpy.dtype") return false;
  const auto& arguments = pickle.items(pickle.object(value).arguments);
  const auto& state = pickle.items(pickle.object(value).state);
  if (arguments.empty()) return false;
  const auto element = numpy_element(pickle.text(arguments[0]));
  if (!element) return false;
  out.type.element = *element;
  out.big_endian = state.size() > 1 && pickle.text(state[1]) == ">";
  return true;
}

std::optional<PickledArray> finish(PickledArray array, const Pickle& pickle, bool fortran_order) {
  const auto bytes = array_bytes(array.layout.type);
  const auto steps =
      fortran_order ? fortran_order_steps(array.layout.type) : c_order_steps(array.layout.type);
  if (!bytes || !steps || *bytes != pickle.text(array.bytes).size()) return std::nullopt;
  array.layout.steps = *steps;
  return array;
}

}  // namespace

std::optional<std::vector<std::uint64_t>> read_sides(const Pickle& pickle,
                                                     const PickleValue& value) {
  if (!value.is(PickleKind::tuple) && !value.is(PickleKind::list)) return std::nullopt;
  const auto& items = pickle.items(value);
  if (items.size() > kMaxArraySides) return std::nullopt;
  std::vector<std::uint64_t> out;
  for (const PickleValue& item : items) {
    if (!item.is(PickleKind::integer) || item.number < 0) return std::nullopt;
    out.push_back(static_cast<std::uint64_t>(item.number));
  }
  return out;
}

std::optional<std::int64_t> read_integer(const Pickle& pickle, const PickleValue& value) {
  if (value.is(PickleKind::integer) || value.is(PickleKind::boolean)) return value.number;
  if (!pickle.calls(value).ends_with("multiarray.scalar")) return std::nullopt;
  const auto& arguments = pickle.items(pickle.object(value).arguments);  // dtype, bytes
  ArrayLayout layout;
  if (arguments.size() != 2 || !read_dtype(layout, pickle, arguments[0])) return std::nullopt;
  const std::string_view bytes = pickle.text(arguments[1]);
  std::array<std::byte, 8> element = {};
  const std::size_t width = element_bytes(layout.type.element);
  if (!is_integer(layout.type.element) || bytes.size() != width) return std::nullopt;
  for (std::size_t b = 0; b < width; ++b) {
    element[layout.big_endian ? width - 1 - b : b] = static_cast<std::byte>(bytes[b]);
  }
  return element_as_integer(layout.type.element, element.data());
}

std::optional<PickledArray> read_numpy(const Pickle& pickle, const PickleValue& value) {
  const std::string_view name = pickle.calls(value);
  if (name.empty()) return std::nullopt;
  PickledArray out;
  std::optional<std::vector<std::uint64_t>> shape;
  if (name.ends_with("multiarray._reconstruct")) {  // state: (1, shape, dtype, fortran, bytes)
    const auto& state = pickle.items(pickle.object(value).state);
    if (state.size() != 5 || !state[3].is(PickleKind::boolean) || !state[4].is(PickleKind::bytes)) {
      return std::nullopt;
    }
    shape = read_sides(pickle, state[1]);
    if (!shape || !read_dtype(out.layout, pickle, state[2])) return std::nullopt;
    out.layout.type.shape = std::move(*shape);
    out.bytes = state[4];
    return finish(std::move(out), pickle, state[3].number != 0);
  }
  if (!name.ends_with("numeric._frombuffer")) return std::nullopt;
  const auto& arguments =
      pickle.items(pickle.object(value).arguments);  // bytes, dtype, shape, order
  if (arguments.size() != 4 || !arguments[0].is(PickleKind::bytes)) return std::nullopt;
  shape = read_sides(pickle, arguments[2]);
  if (!shape || !read_dtype(out.layout, pickle, arguments[1])) return std::nullopt;
  out.layout.type.shape = std::move(*shape);
  out.bytes = arguments[0];
  return finish(std::move(out), pickle, pickle.text(arguments[3]) == "F");
}

}  // namespace tundish
