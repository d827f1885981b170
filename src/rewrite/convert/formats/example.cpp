#include "rewrite/convert/formats/example.h"

#include <bit>

#include "base/crc32c.h"
#include "data/source/arrays/array_fields.h"
#include "rewrite/convert/formats/protobuf.h"
#include "rewrite/convert/output_stream.h"

namespace tundish {
namespace {

constexpr unsigned kBytesList = 1, kFloatList = 2, kIntegerList = 3;  // fields of a Feature

// Returns a Feature with one list, whose content is in `packed` as field 1.
std::string feature(unsigned kind, std::string_view packed) {
  std::string list;
  put_bytes(list, 1, packed);
  std::string out;
  put_bytes(out, kind, list);
  return out;
}

bool is_float(ArrayElement element) {
  return element == ArrayElement::float16 || element == ArrayElement::bfloat16 ||
         element == ArrayElement::float32;
}

}  // namespace

void Example::add_bytes(const std::string& name, std::string_view value) {
  features_[name] = feature(kBytesList, value);
}

void Example::add_integers(const std::string& name, std::span<const std::int64_t> values) {
  std::string packed;
  for (const std::int64_t value : values) put_varint(packed, static_cast<std::uint64_t>(value));
  features_[name] = feature(kIntegerList, packed);
}

void Example::add_floats(const std::string& name, const ArrayType& type, Bytes elements) {
  const std::size_t width = element_bytes(type.element);
  std::string packed;
  for (std::size_t at = 0; at < elements.size(); at += width) {
    const double value = element_as_double(type.element, &elements[at]);
    append(packed, static_cast<float>(value));
  }
  features_[name] = feature(kFloatList, packed);
}

void Example::add_array(const std::string& name, const ArrayType& type, Bytes elements,
                        bool varies) {
  const std::size_t width = element_bytes(type.element);
  if (type.element == ArrayElement::float32) {
    features_[name] = feature(kFloatList, as_text(elements));
  } else if (is_float(type.element)) {
    add_floats(name, type, elements);
  } else if (type.element == ArrayElement::float64 || type.element == ArrayElement::uint64) {
    add_bytes(name, as_text(elements));
  } else {
    std::string packed;
    for (std::size_t at = 0; at < elements.size(); at += width) {
      put_varint(packed,
                 static_cast<std::uint64_t>(*element_as_integer(type.element, &elements[at])));
    }
    features_[name] = feature(kIntegerList, packed);
  }
  const bool is_plain = type.shape.size() == 1 && type.shape[0] != 1 && !varies;
  if (type.shape.empty() || is_plain) return;
  const std::vector<std::int64_t> shape(type.shape.begin(), type.shape.end());
  add_integers(name + "/shape", shape);
}

std::string Example::serialize() const {
  std::string features;
  for (const auto& [name, message] : features_) {
    std::string entry;  // map entry: key 1, value 2
    put_bytes(entry, 1, name);
    put_bytes(entry, 2, message);
    put_bytes(features, 1, entry);
  }
  std::string out;
  put_bytes(out, 1, features);
  return out;
}

std::string tfrecord_head(std::uint64_t bytes) {
  std::string out;
  append(out, bytes);
  append(out, mask_crc(crc32c(std::as_bytes(std::span(out)))));
  return out;
}

std::string tfrecord_tail(std::string_view message) {
  std::string out;
  append(out, mask_crc(crc32c(std::as_bytes(std::span(message)))));
  return out;
}

}  // namespace tundish
