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

std::uint16_t float16_bits(float value);   // round to nearest even, as torch
std::uint16_t bfloat16_bits(float value);  // round to nearest even, as torch

// Of a value that the type has room for, in the low bytes.
std::uint32_t element_bits(float value, Dtype dtype);

}  // namespace tundish
