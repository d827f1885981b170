// The type of an array: its element type and its shape. Elements are stored little-endian, in C
// order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tundish {

// The element types that both NumPy and torch support, plus bfloat16.
enum class ArrayElement : std::uint8_t {
  boolean,
  int8,
  uint8,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  uint64,
  float16,
  bfloat16,
  float32,
  float64,
};
inline constexpr std::size_t kArrayElements = 13;

const char* element_name(ArrayElement element);  // "uint8", "float32", ...; boolean is "bool"
std::size_t element_bytes(ArrayElement element);
std::optional<ArrayElement> element_named(std::string_view name);

// Maximum number of dimensions, as in NumPy. Every reader refuses more.
inline constexpr std::size_t kMaxArraySides = 64;

struct ArrayType {
  ArrayElement element = ArrayElement::uint8;
  std::vector<std::uint64_t> shape;  // empty for a single element
  bool operator==(const ArrayType&) const = default;
};

// Returns the size of all elements in bytes, or nothing if the size overflows 64 bits.
std::optional<std::uint64_t> array_bytes(const ArrayType& type);

std::string array_text(const ArrayType& type);  // "uint8 (32, 32, 3)"

// Returns the header that precedes the elements in a .npy file. bfloat16, which NumPy lacks, is
// declared as uint16.
std::string npy_head(const ArrayType& type);

}  // namespace tundish
