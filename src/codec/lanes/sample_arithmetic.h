// Arithmetic of single samples, shared by CPU and GPU: inverse DCT, upsampling, color.
// All integers, with 32-bit wrap-around.
#pragma once

#include <cstdint>

#include "base/host_device.h"

namespace tundish::lanes {

// Runs one pass of libjpeg's "islow" inverse DCT over eight 16-bit numbers. The factored form is
// multiplied out: with exact integers, the order of the sums does not matter. Every sum is below
// 32768 * 61214 + 2^26 < 2^31. `start` is added to each output; the caller shifts the result.
TUNDISH_HOST_DEVICE void idct_pass(std::int32_t out[8], const std::int32_t in[8],
                                   std::int32_t start) {
  const std::int32_t sum = 8192 * (in[0] + in[4]) + start;
  const std::int32_t difference = 8192 * (in[0] - in[4]) + start;
  const std::int32_t far = 10703 * in[2] + 4433 * in[6];
  const std::int32_t near = 4433 * in[2] - 10704 * in[6];
  const std::int32_t even[4] = {sum + far, difference + near, difference - near, sum - far};
  const std::int32_t odd[4] = {11363 * in[1] + 9633 * in[3] + 6437 * in[5] + 2260 * in[7],
                               9633 * in[1] - 2259 * in[3] - 11362 * in[5] - 6436 * in[7],
                               6437 * in[1] - 11362 * in[3] + 2261 * in[5] + 9633 * in[7],
                               2260 * in[1] - 6436 * in[3] + 9633 * in[5] - 11363 * in[7]};
  for (int i = 0; i < 4; ++i) {
    out[i] = even[i] + odd[i];
    out[7 - i] = even[i] - odd[i];
  }
}

// Columns first: their sums are shifted, and the low 16 bits are the input of the rows.
inline constexpr int kColumnShift = 11, kRowShift = 18;
inline constexpr std::int32_t kColumnStart = 1 << (kColumnShift - 1);
inline constexpr std::int32_t kRowStart = (1 << (kRowShift - 1)) + (128 << kRowShift);

// Returns the sample of a block with only a (dequantized) DC coefficient, before clipping.
TUNDISH_HOST_DEVICE std::int32_t idct_of_dc(std::int16_t dc) {
  return (static_cast<std::int16_t>(4 * dc) + 16 + (128 << 5)) >> 5;
}

// Interpolates chroma between two samples, with three parts of the nearer one. `right`: the pixel
// is to the right of (or below) its sample.
TUNDISH_HOST_DEVICE int smooth(int near, int far, bool right) {
  return (3 * near + far + (right ? 2 : 1)) >> 2;
}

// Like smooth(), for sums 3 * near row + far row.
TUNDISH_HOST_DEVICE int smooth_sums(int near, int far, bool right) {
  return (3 * near + far + (right ? 7 : 8)) >> 4;
}

// Return levels of one pixel before clipping to 0 .. 255. `luma` is scaled; `blue` and `red` are
// chroma minus 128.
TUNDISH_HOST_DEVICE int scaled_luma(int luma) { return luma * 65536 + 32768; }
TUNDISH_HOST_DEVICE int red_of(int luma, int red) { return (luma + 91881 * red) >> 16; }
TUNDISH_HOST_DEVICE int green_of(int luma, int blue, int red) {
  return (luma - 22554 * blue - 46802 * red) >> 16;
}
TUNDISH_HOST_DEVICE int blue_of(int luma, int blue) { return (luma + 116130 * blue) >> 16; }

}  // namespace tundish::lanes
