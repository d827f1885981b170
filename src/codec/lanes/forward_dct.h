// The forward DCT of libjpeg's "islow" with quantization, identical to every encoder built on
// libjpeg.
#pragma once

#include <cstdint>

#include "codec/lanes/coefficients.h"

namespace tundish::lanes {

// Transforms 64 samples, `stride` bytes between rows, to quantized coefficients.
// Quantizers must be at least 1.
// Exact integers: equal to libjpeg-turbo's C code and its SIMD code.
void forward_dct(Block& out, const std::uint8_t* samples, std::ptrdiff_t stride,
                 const Quantization& quantization);

}  // namespace tundish::lanes
