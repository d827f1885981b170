#include "base/array_type.h"

#include <fmt/format.h>

namespace tundish {
namespace {

struct Element {
  const char* name;
  const char* npy;  // value of "descr" in a .npy file
  std::size_t bytes;
};

// Indexed by ArrayElement.
constexpr std::array<Element, kArrayElements> kElements = {{
    {"bool", "|b1", 1},
    {"int8", "|i1", 1},
    {"uint8", "|u1", 1},
    {"int16", "<i2", 2},
    {"uint16", "<u2", 2},
    {"int32", "<i4", 4},
    {"uint32", "<u4", 4},
    {"int64", "<i8", 8},
    {"uint64", "<u8", 8},
    {"float16", "<f2", 2},
    {"bfloat16", "<u2", 2},
    {"float32", "<f4", 4},
    {"float64", "<f8", 8},
}};

const Element& of(ArrayElement element) { return kElements[static_cast<std::size_t>(element)]; }

// Formats a shape as a Python tuple: "(3,)", "(2, 3)".
std::string shape_text(const std::vector<std::uint64_t>& shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

}  // namespace

const char* element_name(ArrayElement element) { return of(element).name; }

std::size_t element_bytes(ArrayElement element) { return of(element).bytes; }

std::optional<ArrayElement> element_named(std::string_view name) {
  for (std::size_t i = 0; i < kElements.size(); ++i) {
    if (name == kElements[i].name) return static_cast<ArrayElement>(i);
  }
  return std::nullopt;
}

std::optional<std::uint64_t> array_bytes(const ArrayType& type) {
  std::uint64_t bytes = element_bytes(type.element);
  for (const std::uint64_t side : type.shape) {
    if (__builtin_mul_overflow(bytes, side, &bytes)) return std::nullopt;
  }
  return bytes;
}

std::string array_text(const ArrayType& type) {
  return fmt::format("{} {}", element_name(type.element), shape_text(type.shape));
}

std::string npy_head(const ArrayType& type) {
  constexpr std::size_t kFixed = 10;      // magic, version, length
  constexpr std::size_t kAlignment = 64;  // bytes; the elements start at a multiple
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}",
                                 of(type.element).npy, shape_text(type.shape));
  const std::size_t end = kFixed + text.size() + 1;
  text.append((kAlignment - end % kAlignment) % kAlignment, ' ');
  text += '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  out += static_cast<char>(text.size() & 0xff);
  out += static_cast<char>(text.size() >> 8);
  return out + text;
}

}  // namespace tundish
