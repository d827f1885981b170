// The forward DCT of libjpeg's "islow", and its quantization: what every encoder built on libjpeg
// makes of 64 samples.
#pragma once

#include <cstdint>

#include "codec/lanes/coefficients.h"

namespace tundish::lanes {

// 64 samples, `stride` bytes from row to row, to quantized coefficients. Every quantizer is at
// least
// 1. Exact integers: equal to libjpeg-turbo's C code and to its SIMD.
void forward_dct(Block& out, const std::uint8_t* samples, std::ptrdiff_t stride,
                 const Quantization& quantization);

}  // namespace tundish::lanes
