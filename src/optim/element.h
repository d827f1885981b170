// Converts 16-bit elements to fp32 and back without branches, so that compilers vectorize loops.
// Shared by CPU and GPU. Results match torch's casts; a NaN stays a NaN.
#pragma once

#include <cstdint>

#include "base/host_device.h"

namespace tundish::optim {

TUNDISH_HOST_DEVICE std::uint32_t bits_of(float value) {
  return __builtin_bit_cast(std::uint32_t, value);
}
TUNDISH_HOST_DEVICE float float_of(std::uint32_t bits) { return __builtin_bit_cast(float, bits); }

// --- bfloat16: the upper half of a float ------------------------------------------------------

TUNDISH_HOST_DEVICE float from_bfloat16(std::uint16_t element) {
  return float_of(static_cast<std::uint32_t>(element) << 16);
}

// Adds `rounding` (0x0000 to 0xffff) and truncates. A carry into the exponent is correct: it yields
// the next power of two, or infinity.
TUNDISH_HOST_DEVICE std::uint16_t cut_to_bfloat16(std::uint32_t bits, std::uint32_t rounding) {
  const bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
  const std::uint32_t cut = (bits + rounding) >> 16;
  return static_cast<std::uint16_t>(nan ? 0x7fc0u : cut);
}

TUNDISH_HOST_DEVICE std::uint16_t to_bfloat16(float value) {  // to nearest, ties to even
  const std::uint32_t bits = bits_of(value);
  return cut_to_bfloat16(bits, 0x7fffu + ((bits >> 16) & 1u));
}

// --- float16: 5 bits of exponent, 10 of mantissa ----------------------------------------------

TUNDISH_HOST_DEVICE float from_float16(std::uint16_t element) {
  const std::uint32_t sign = static_cast<std::uint32_t>(element & 0x8000u) << 16;
  const std::uint32_t magnitude = static_cast<std::uint32_t>(element & 0x7fffu) << 13;
  // The exponent's bias is 112 smaller; infinities and NaNs move to the top of the range.
  const std::uint32_t normal = magnitude + (112u << 23);
  const std::uint32_t special = magnitude + (224u << 23);
  // Subnormal: sets the hidden bit of a float, then subtracts it; the subtraction is exact.
  const std::uint32_t small = bits_of(float_of(magnitude + (113u << 23)) - float_of(113u << 23));
  const std::uint32_t finite = magnitude < (1u << 23) ? small : normal;
  return float_of(sign | (magnitude >= (31u << 23) ? special : finite));
}

// Converts a magnitude of 65536 or more, an infinity or a NaN; the sign is not included.
TUNDISH_HOST_DEVICE std::uint32_t large_float16(std::uint32_t magnitude) {
  return magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
}

TUNDISH_HOST_DEVICE std::uint16_t to_float16(float value) {  // to nearest, ties to even
  const std::uint32_t bits = bits_of(value);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  const std::uint32_t even = 0xfffu + ((magnitude >> 13) & 1u);
  const std::uint32_t normal = (magnitude - (112u << 23) + even) >> 13;
  // Below 2^-14: the last bit of a half is 2^-24, as is the last bit of floats in [0.5, 1).
  const std::uint32_t small = bits_of(float_of(magnitude) + 0.5f) - bits_of(0.5f);
  const std::uint32_t finite = magnitude < 0x38800000u ? small : normal;
  const std::uint32_t half = magnitude >= 0x47800000u ? large_float16(magnitude) : finite;
  return static_cast<std::uint16_t>(((bits >> 16) & 0x8000u) | half);
}

// --- stochastic rounding: rounds up with probability equal to the discarded fraction ----------

// Returns 32 random bits for one element. `key` is rounding_key() for the tensor and the step.
TUNDISH_HOST_DEVICE std::uint32_t rounding_bits(std::uint64_t key, std::uint64_t element) {
  std::uint64_t x = key + element * 0x9e3779b97f4a7c15u;  // mix() of base/random.h, always inlined
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return static_cast<std::uint32_t>(x >> 32);
}

TUNDISH_HOST_DEVICE std::uint16_t to_bfloat16_randomly(float value, std::uint32_t random) {
  const std::uint32_t bits = bits_of(value);
  const std::uint32_t rounding = random >> 16;
  return cut_to_bfloat16(bits, (bits & 0x7fffffffu) == 0x7f800000u ? 0u : rounding);
}

// Rounds like to_float16() above 65504, the largest half: rounding up would yield infinity.
TUNDISH_HOST_DEVICE std::uint16_t to_float16_randomly(float value, std::uint32_t random) {
  const std::uint32_t bits = bits_of(value);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  const std::uint32_t normal = (magnitude - (112u << 23) + (random >> 19)) >> 13;
  // Below 2^-14: units of 2^-24; the remainder is compared with a 24-bit random number. All exact.
  const float units = float_of(magnitude < 0x38800000u ? magnitude : 0u) * 0x1p24f;
  const std::int32_t whole = static_cast<std::int32_t>(units);
  const float rest = units - static_cast<float>(whole);
  const float chance = static_cast<float>(static_cast<std::int32_t>(random >> 8)) * 0x1p-24f;
  const std::uint32_t small = static_cast<std::uint32_t>(whole) + (rest > chance ? 1u : 0u);
  const std::uint32_t half = magnitude < 0x38800000u ? small : normal;
  const std::uint32_t out = ((bits >> 16) & 0x8000u) | half;
  const std::uint32_t nearest = to_float16(value);
  return static_cast<std::uint16_t>(magnitude > 0x477fe000u ? nearest : out);
}

}  // namespace tundish::optim
