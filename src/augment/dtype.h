// Element types of a batch.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tundish {

enum class Dtype : std::uint8_t { uint8 = 0, float32 = 1, float16 = 2, bfloat16 = 3 };
constexpr std::array<const char*, 4> words(Dtype) {
  return {"uint8", "float32", "float16", "bfloat16"};
}

constexpr std::size_t dtype_bytes(Dtype dtype) {
  constexpr std::array<std::size_t, 4> kBytes = {1, 4, 2, 2};
  return kBytes[static_cast<std::size_t>(dtype)];
}

std::uint16_t float16_bits(float value);   // rounds to nearest even, like torch
std::uint16_t bfloat16_bits(float value);  // rounds to nearest even, like torch

// Returns the bits of `value` in the low bytes. The type must be able to represent the value.
std::uint32_t element_bits(float value, Dtype dtype);

}  // namespace tundish
