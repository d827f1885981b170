// The inverse DCT of libjpeg's "islow", and where it is exactly libjpeg's.
#pragma once

#include <cstdint>

#include "codec/lanes/coefficients.h"

namespace tundish::lanes {

// 64 samples from 64 dequantized coefficients, both row by row. Columns first; what goes from the
// first pass to the second keeps its low 16 bits. Defined for all input, and equal in every
// instruction set.
void idct(std::uint8_t* out, std::ptrdiff_t stride, const std::int16_t* coefficients);

// Whether idct() gives what libjpeg-turbo's SIMD gives. That one adds some pairs of numbers in 16
// bits, so it is another function where they do not fit; no encoder makes such a block from
// pixels. (libjpeg's C code also differs where a sample is beyond -384 .. 639 before it is clipped
// to 0 .. 255: there the SIMD of x86-64 and of ARM is the reference.)
bool is_exact(const Block& block, const Quantization& quantization);
bool is_exact(const Coefficients& image);  // every block of the image

}  // namespace tundish::lanes
