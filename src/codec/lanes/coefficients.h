// The quantized coefficients of one image, as libjpeg reads them: the common form of a JPEG file
// and a lanes record.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/aligned_vector.h"
#include "codec/lanes/geometry.h"

namespace tundish::lanes {

// Natural position (y * 8 + x) of each zigzag index; zigzag goes from low to high frequencies.
inline constexpr std::uint8_t kZigzag[64] = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
    41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
    30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

using Block = std::array<std::int16_t, 64>;  // natural order
using Blocks = AlignedVector<Block>;
using Quantization = std::array<std::uint16_t, 64>;  // natural order, 1 to 65,535

// Ranges that a record can hold: AC within +-2047 and DC differences within +-4095.
// An 8-bit JPEG stays within +-1023 and +-2047.
inline constexpr int kMaxAc = 2047;
inline constexpr int kMaxDcDifference = 4095;

struct Coefficients {
  Geometry geometry;
  Color color = Color::ycc;
  Quantization quantization[kMaxComponents] = {};
  Blocks blocks[kMaxComponents];  // row by row, blocks_x * blocks_y per component
};

}  // namespace tundish::lanes
