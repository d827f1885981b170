#include "lanes/forward_dct.h"

namespace tundish::lanes {
namespace {

constexpr int kFractionBits = 13;  // of the constants
constexpr int kPassBits = 2;       // more precision between the passes

// Rounds to nearest, halves up.
std::int32_t descale(std::int32_t value, int bits) { return (value + (1 << (bits - 1))) >> bits; }

// One pass over eight numbers, the transpose of idct_pass() (lanes/sample_arithmetic.h): libjpeg's
// factored form multiplied out. The numbers are so small that no sum leaves 32 bits: samples are
// within +-128, results of the first pass within +-4,096. out[0] and out[4] have no constants.
void pass(std::int32_t out[8], const std::int32_t in[8]) {
  std::int32_t sum[4], difference[4];
  for (int i = 0; i < 4; ++i) {
    sum[i] = in[i] + in[7 - i];
    difference[i] = in[i] - in[7 - i];
  }
  const std::int32_t outer = sum[0] - sum[3], inner = sum[1] - sum[2];
  out[0] = sum[0] + sum[3] + sum[1] + sum[2];
  out[4] = sum[0] + sum[3] - sum[1] - sum[2];
  out[2] = 10703 * outer + 4433 * inner;
  out[6] = 4433 * outer - 10704 * inner;
  const std::int32_t* d = difference;
  out[1] = 11363 * d[0] + 9633 * d[1] + 6437 * d[2] + 2260 * d[3];
  out[3] = 9633 * d[0] - 2259 * d[1] - 11362 * d[2] - 6436 * d[3];
  out[5] = 6437 * d[0] - 11362 * d[1] + 2261 * d[2] + 9633 * d[3];
  out[7] = 2260 * d[0] - 6436 * d[1] + 9633 * d[2] - 11363 * d[3];
}

// The DCT gives eight times the coefficient; halves are rounded away from zero.
std::int16_t quantise(std::int32_t value, std::int32_t quantiser) {
  const std::int32_t divisor = 8 * quantiser;
  const std::int32_t size = ((value < 0 ? -value : value) + divisor / 2) / divisor;
  return static_cast<std::int16_t>(value < 0 ? -size : size);
}

}  // namespace

void forward_dct(Block& out, const std::uint8_t* samples, std::ptrdiff_t stride,
                 const Quantisation& quantisation) {
  std::int32_t between[8][8];  // by column, so that the second pass reads eight neighbours
  for (int y = 0; y < 8; ++y, samples += stride) {
    std::int32_t in[8], line[8];
    for (int x = 0; x < 8; ++x) in[x] = samples[x] - 128;
    pass(line, in);
    for (int x = 0; x < 8; ++x) {
      between[x][y] =
          x % 4 == 0 ? line[x] * (1 << kPassBits) : descale(line[x], kFractionBits - kPassBits);
    }
  }
  for (std::size_t x = 0; x < 8; ++x) {
    std::int32_t line[8];
    pass(line, between[x]);
    for (std::size_t y = 0; y < 8; ++y) {
      const int bits = y % 4 == 0 ? kPassBits : kFractionBits + kPassBits;
      out[y * 8 + x] = quantise(descale(line[y], bits), quantisation[y * 8 + x]);
    }
  }
}

}  // namespace tundish::lanes
