#include "data/source/arrays/array_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "data/source/field_names.h"
#include "data/source/format.h"

namespace tundish {
namespace {

bool channels(std::uint64_t side) { return side == 1 || side == 3 || side == 4; }

// Fills `field` and returns true if samples of this type are pictures.
bool picture(Field& field, const ArrayType& type) {
  const std::vector<std::uint64_t>& shape = type.shape;
  const bool deep = type.element == ArrayElement::uint16;
  if (!deep && type.element != ArrayElement::uint8) return false;
  if (shape.size() != 2 && (deep || shape.size() != 3)) return false;
  if (*std::max_element(shape.begin(), shape.end()) > UINT32_MAX) return false;
  const bool last = shape.size() == 2 || channels(shape[2]);
  if (!last && !channels(shape[0])) return false;
  field.type = FieldType::image;
  field.array = type;
  field.channels_first = !last;
  return true;
}

bool scalar(const ArrayType& type) { return array_bytes(type) == element_bytes(type.element); }

std::string list_of(const std::vector<StoredArray>& arrays) {
  std::string out;
  constexpr std::size_t kMost = 20;
  for (std::size_t i = 0; i < std::min(arrays.size(), kMost); ++i) {
    ArrayType type = arrays[i].type;
    type.shape.insert(type.shape.begin(), arrays[i].count);
    out += fmt::format("{}{}: {}", i == 0 ? "" : ", ", printable(arrays[i].name), array_text(type));
  }
  return arrays.size() > kMost ? out + ", ..." : out;
}

[[noreturn]] void unclear(const ArraySet& set, const std::string& reason) {
  throw Error(ErrorCode::field_unclear, {.file = set.path},
              fmt::format("{}; its arrays: {}", reason, list_of(set.arrays)));
}

std::vector<FieldCandidate> candidates_of(const ArraySet& set, FieldRole role) {
  std::vector<FieldCandidate> candidates;
  for (const StoredArray& array : set.arrays) {
    Field field;
    const bool fits = role == FieldRole::image
                          ? picture(field, array.type)
                          : is_integer(array.type.element) && scalar(array.type);
    candidates.push_back({array.name, fits});
  }
  return candidates;
}

int choose(const ArraySet& set, FieldRole role, const std::string& wanted) {
  const std::vector<FieldCandidate> candidates = candidates_of(set, role);
  int out = -1;
  if (const auto fault = choose_field(out, role, wanted, candidates)) unclear(set, fault->reason);
  return out;
}

// Returns the number of samples: from the image, the label, or the length common to all arrays.
std::uint64_t samples_of(const ArraySet& set, int image, int label) {
  if (image >= 0) return set.arrays[static_cast<std::size_t>(image)].count;
  if (label >= 0) return set.arrays[static_cast<std::size_t>(label)].count;
  for (const StoredArray& array : set.arrays) {
    if (array.count != set.arrays.front().count) {
      unclear(set, "its arrays have different lengths, and none is called as an image or a label");
    }
  }
  return set.arrays.front().count;
}

Field field_of(const StoredArray& array, bool image, bool label) {
  Field field{.name = array.name, .type = FieldType::array, .array = array.type};
  if (image && picture(field, array.type)) return field;
  if (!scalar(array.type)) return field;
  field.array.reset();
  field.type = label && is_integer(array.type.element) ? FieldType::label : FieldType::number;
  return field;
}

void warn_of_float_pictures(ArraySet& set) {
  for (const StoredArray& array : set.arrays) {
    const std::string text = float_picture_warning(array.name, array.type);
    if (!text.empty()) set.warnings.push_back(text);
  }
}

// A model's weights also have a first axis, but that axis does not count samples.
void refuse_model(const ArraySet& set) {
  const auto is_weight = [](const StoredArray& array) {
    constexpr std::array<std::string_view, 4> kEndings = {".weight", ".bias", ".running_mean",
                                                          ".running_var"};
    return std::any_of(kEndings.begin(), kEndings.end(),
                       [&](std::string_view ending) { return array.name.ends_with(ending); });
  };
  const auto weights = std::count_if(set.arrays.begin(), set.arrays.end(), is_weight);
  if (2 * static_cast<std::size_t>(weights) <= set.arrays.size()) return;
  throw Error(unsupported_source(
                  set.format, fmt::format("these are the weights of a model, not samples: {}; give "
                                          "the file of the dataset",
                                          list_of(set.arrays))),
              {.file = set.path});
}

}  // namespace

ArrayFields choose_array_fields(ArraySet& set, const SourceOptions& options) {
  std::erase_if(set.arrays, [](const StoredArray& array) { return array.count == 0; });
  if (set.arrays.empty()) {
    throw Error(ErrorCode::source_empty, {.file = set.path},
                set.warnings.empty() ? "" : set.warnings.front());
  }
  if (options.image.empty() && options.label.empty()) refuse_model(set);
  const int image = choose(set, FieldRole::image, options.image);
  const int label = choose(set, FieldRole::label, options.label);
  if (label < 0) {
    const auto candidates = candidates_of(set, FieldRole::label);
    const std::string text = no_label_warning(candidates, image >= 0);
    if (!text.empty()) set.warnings.push_back(text);
  }
  if (image < 0) warn_of_float_pictures(set);
  ArrayFields out;
  out.count = samples_of(set, image, label);
  if (label >= 0 && set.arrays[static_cast<std::size_t>(label)].count != out.count) {
    const StoredArray& a = set.arrays[static_cast<std::size_t>(image)];
    const StoredArray& b = set.arrays[static_cast<std::size_t>(label)];
    unclear(set, fmt::format("the image '{}' has {} samples, the label '{}' {}: write the file "
                             "with as many labels as images, or with an array less",
                             printable(a.name), with_commas(a.count), printable(b.name),
                             with_commas(b.count)));
  }
  for (std::size_t i = 0; i < set.arrays.size(); ++i) {
    StoredArray& array = set.arrays[i];
    const int number = static_cast<int>(i);
    if (array.count != out.count || out.arrays.size() == kMaxFields) {
      set.warnings.push_back(fmt::format("'{}' is left out: {} entries for {} samples",
                                         printable(array.name), with_commas(array.count),
                                         with_commas(out.count)));
      continue;
    }
    out.schema.fields.push_back(field_of(array, number == image, number == label));
    out.arrays.push_back(std::move(array));
  }
  for (const ClassNames& classes : set.classes) {
    const int field = out.schema.find(FieldType::label);
    if (field < 0 || out.arrays[static_cast<std::size_t>(field)].name != classes.array) continue;
    out.schema.classes = classes.names;
  }
  out.schema.source = set.provenance;
  return out;
}

bool is_integer(ArrayElement element) { return element <= ArrayElement::uint64; }

std::optional<std::int64_t> element_as_integer(ArrayElement element, const std::byte* from) {
  switch (element) {
    case ArrayElement::boolean:
      return std::to_integer<int>(*from) != 0;
    case ArrayElement::int8:
      return load<std::int8_t>(from);
    case ArrayElement::uint8:
      return load<std::uint8_t>(from);
    case ArrayElement::int16:
      return load<std::int16_t>(from);
    case ArrayElement::uint16:
      return load<std::uint16_t>(from);
    case ArrayElement::int32:
      return load<std::int32_t>(from);
    case ArrayElement::uint32:
      return load<std::uint32_t>(from);
    case ArrayElement::int64:
      return load<std::int64_t>(from);
    case ArrayElement::uint64: {
      const auto value = load<std::uint64_t>(from);
      if (value > INT64_MAX) return std::nullopt;
      return static_cast<std::int64_t>(value);
    }
    default:
      return std::nullopt;
  }
}

double element_as_double(ArrayElement element, const std::byte* from) {
  switch (element) {
    case ArrayElement::uint64:
      return static_cast<double>(load<std::uint64_t>(from));
    case ArrayElement::float64:
      return std::bit_cast<double>(load<std::uint64_t>(from));
    case ArrayElement::float32:
      return std::bit_cast<float>(load<std::uint32_t>(from));
    case ArrayElement::bfloat16:
      return std::bit_cast<float>(std::uint32_t{load<std::uint16_t>(from)} << 16);
    case ArrayElement::float16: {
      const unsigned bits = load<std::uint16_t>(from);
      const int exponent = static_cast<int>(bits >> 10 & 31);
      const double sign = bits >> 15 ? -1 : 1, fraction = bits & 1023;
      if (exponent == 31) return fraction == 0 ? sign * INFINITY : std::nan("");
      if (exponent == 0) return sign * std::ldexp(fraction, -24);
      return sign * std::ldexp(fraction + 1024, exponent - 25);
    }
    default:
      return static_cast<double>(*element_as_integer(element, from));
  }
}

}  // namespace tundish
