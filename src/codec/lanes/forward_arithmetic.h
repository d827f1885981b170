// JPEG encoder arithmetic shared by CPU and GPU: color, chroma averaging, forward DCT,
// quantization. All integers; equal to libjpeg-turbo's C code and its SIMD code.
#pragma once

#include <cstdint>

#include "base/host_device.h"

namespace tundish::lanes {

struct Ycc {
  std::uint8_t luma, blue, red;
};

// libjpeg's fixed point with 16 fractional bits. Chroma rounds halves down, so that it never
// reaches 256.
TUNDISH_HOST_DEVICE Ycc ycc_of(std::int32_t r, std::int32_t g, std::int32_t b) {
  constexpr std::int32_t kHalf = 1 << 15;
  constexpr std::int32_t kMiddle = (128 << 16) + kHalf - 1;
  return {static_cast<std::uint8_t>((19595 * r + 38470 * g + 7471 * b + kHalf) >> 16),
          static_cast<std::uint8_t>((-11059 * r - 21709 * g + 32768 * b + kMiddle) >> 16),
          static_cast<std::uint8_t>((32768 * r - 27439 * g - 5329 * b + kMiddle) >> 16)};
}

// Return sample x of a chroma row from the sum of two or four pixels. libjpeg rounds halves down
// and up alternately, so that averages do not drift.
TUNDISH_HOST_DEVICE int average_of_two(int sum, int x) { return (sum + (x & 1)) >> 1; }
TUNDISH_HOST_DEVICE int average_of_four(int sum, int x) { return (sum + 1 + (x & 1)) >> 2; }

inline constexpr int kForwardBits = 13;  // fractional bits of the constants
inline constexpr int kPassBits = 2;      // extra precision between the passes

// Rounds to nearest, halves up.
TUNDISH_HOST_DEVICE std::int32_t descale(std::int32_t value, int bits) {
  return (value + (1 << (bits - 1))) >> bits;
}

// Runs one pass over eight numbers, the transpose of idct_pass() (codec/lanes/sample_arithmetic.h):
// libjpeg's factored form multiplied out. No sum exceeds 32 bits, because samples are within +-128
// and results of the first pass within +-4,096. out[0] and out[4] are not multiplied by
// constants.
TUNDISH_HOST_DEVICE void forward_pass(std::int32_t out[8], const std::int32_t in[8]) {
  std::int32_t sum[4], d[4];
  for (int i = 0; i < 4; ++i) {
    sum[i] = in[i] + in[7 - i];
    d[i] = in[i] - in[7 - i];
  }
  const std::int32_t outer = sum[0] - sum[3], inner = sum[1] - sum[2];
  out[0] = sum[0] + sum[3] + sum[1] + sum[2];
  out[4] = sum[0] + sum[3] - sum[1] - sum[2];
  out[2] = 10703 * outer + 4433 * inner;
  out[6] = 4433 * outer - 10704 * inner;
  out[1] = 11363 * d[0] + 9633 * d[1] + 6437 * d[2] + 2260 * d[3];
  out[3] = 9633 * d[0] - 2259 * d[1] - 11362 * d[2] - 6436 * d[3];
  out[5] = 6437 * d[0] - 11362 * d[1] + 2261 * d[2] + 9633 * d[3];
  out[7] = 2260 * d[0] - 6436 * d[1] + 9633 * d[2] - 11363 * d[3];
}

// Scale output i of the row pass (input of the column pass), and output i of the column pass.
TUNDISH_HOST_DEVICE std::int32_t scaled_row(std::int32_t value, int i) {
  return i % 4 == 0 ? value * (1 << kPassBits) : descale(value, kForwardBits - kPassBits);
}
TUNDISH_HOST_DEVICE std::int32_t scaled_column(std::int32_t value, int i) {
  return descale(value, i % 4 == 0 ? kPassBits : kForwardBits + kPassBits);
}

// The DCT yields eight times the coefficient; halves round away from zero.
TUNDISH_HOST_DEVICE std::int16_t quantize(std::int32_t value, std::int32_t quantizer) {
  const std::int32_t divisor = 8 * quantizer;
  const std::int32_t size = ((value < 0 ? -value : value) + divisor / 2) / divisor;
  return static_cast<std::int16_t>(value < 0 ? -size : size);
}

// Returns libjpeg's quantizer at `place` (natural order) for a quality of 1 to 100, from the tables
// of Annex K of the JPEG standard.
TUNDISH_HOST_DEVICE int standard_quantizer(int quality, bool chroma, int place) {
  constexpr std::uint8_t kLuma[64] = {16,  11,  10,  16,  24, 40, 51,  61,  12,  12,  14,  19,  26,
                                      58,  60,  55,  14,  13, 16, 24,  40,  57,  69,  56,  14,  17,
                                      22,  29,  51,  87,  80, 62, 18,  22,  37,  56,  68,  109, 103,
                                      77,  24,  35,  55,  64, 81, 104, 113, 92,  49,  64,  78,  87,
                                      103, 121, 120, 101, 72, 92, 95,  98,  112, 100, 103, 99};
  // The chroma table is 99 except in its upper left corner.
  constexpr std::uint8_t kChroma[16] = {17, 18, 24, 47, 18, 21, 26, 66,
                                        24, 26, 56, 99, 47, 66, 99, 99};
  const int row = place / 8, column = place % 8;
  const int level = !chroma ? kLuma[place] : row < 4 && column < 4 ? kChroma[4 * row + column] : 99;
  const int scale = quality < 50 ? 5000 / quality : 200 - 2 * quality;
  const int value = (level * scale + 50) / 100;
  return value < 1 ? 1 : value > 255 ? 255 : value;
}

}  // namespace tundish::lanes
