// Element types of a batch, and the table that takes an 8-bit level to one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "augment/pixel_steps.h"

namespace tundish {

enum class Dtype : std::uint8_t { uint8 = 0, float32 = 1, float16 = 2, bfloat16 = 3 };

std::size_t dtype_bytes(Dtype dtype);
const char* dtype_name(Dtype dtype);  // "uint8", ...

// torchvision v2.ToDtype(dtype, scale): with scale, uint8 0..255 becomes 0..1.
struct ToDtype {
  Dtype dtype = Dtype::float32;
  bool scale = true;
};

// value[c][level], as the bits of `dtype` in the low bytes.
struct PixelTable {
  Dtype dtype = Dtype::uint8;
  std::array<std::array<std::uint32_t, 256>, 3> value{};
  std::optional<PixelSteps> steps{};  // when they give the very same values
};

std::uint16_t float16_bits(float value);   // round to nearest even, as torch
std::uint16_t bfloat16_bits(float value);  // round to nearest even, as torch

}  // namespace tundish
