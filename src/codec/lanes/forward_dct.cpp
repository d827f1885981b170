#include "codec/lanes/forward_dct.h"

#include "codec/lanes/forward_arithmetic.h"

namespace tundish::lanes {

void forward_dct(Block& out, const std::uint8_t* samples, std::ptrdiff_t stride,
                 const Quantization& quantization) {
  std::int32_t between[8][8];  // by column, so that the second pass reads eight adjacent numbers
  for (int y = 0; y < 8; ++y, samples += stride) {
    std::int32_t in[8], line[8];
    for (int x = 0; x < 8; ++x) in[x] = samples[x] - 128;
    forward_pass(line, in);
    for (int x = 0; x < 8; ++x) between[x][y] = scaled_row(line[x], x);
  }
  for (std::size_t x = 0; x < 8; ++x) {
    std::int32_t line[8];
    forward_pass(line, between[x]);
    for (std::size_t y = 0; y < 8; ++y) {
      out[y * 8 + x] =
          quantize(scaled_column(line[y], static_cast<int>(y)), quantization[y * 8 + x]);
    }
  }
}

}  // namespace tundish::lanes
