#include "augment/dtype.h"

#include <bit>

namespace tundish {
namespace {

// Rounds off the low `bits` of `word` to nearest, ties to even. A carry may reach the exponent,
// which is correct: the result is the next power of two, or infinity.
std::uint32_t round_off(std::uint32_t word, int bits) {
  const std::uint32_t half = (1u << (bits - 1)) - 1;
  return (word + half + ((word >> bits) & 1)) >> bits;
}

}  // namespace

std::uint16_t float16_bits(float value) {
  const auto word = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (word >> 16) & 0x8000u;
  const std::uint32_t magnitude = word & 0x7fffffffu;
  std::uint32_t half = 0;
  if (magnitude > 0x7f800000u) {
    half = 0x7e00u;  // NaN
  } else if (magnitude >= 0x47800000u) {
    half = 0x7c00u;  // 65536 and above: infinity
  } else if (magnitude >= 0x38800000u) {
    half = round_off(magnitude - 0x38000000u, 13);  // the exponent's bias is 112 smaller
  } else if (magnitude >= 0x33000000u) {
    // Below 2^-14 there is no hidden bit: shift the mantissa to where 2^-24 is the last bit.
    const int shift = 126 - static_cast<int>(magnitude >> 23);
    half = round_off((magnitude & 0x7fffffu) | 0x800000u, shift);
  }
  return static_cast<std::uint16_t>(sign | half);
}

std::uint16_t bfloat16_bits(float value) {
  const auto word = std::bit_cast<std::uint32_t>(value);
  if ((word & 0x7fffffffu) > 0x7f800000u) return 0x7fc0u;  // NaN
  return static_cast<std::uint16_t>(round_off(word, 16));
}

std::uint32_t element_bits(float value, Dtype dtype) {
  switch (dtype) {
    case Dtype::uint8:
      return static_cast<std::uint8_t>(value);
    case Dtype::float32:
      return std::bit_cast<std::uint32_t>(value);
    case Dtype::float16:
      return float16_bits(value);
    case Dtype::bfloat16:
      return bfloat16_bits(value);
  }
  return 0;
}

}  // namespace tundish
