// The inverse DCT of libjpeg's "islow", and a test for exact agreement with libjpeg.
#pragma once

#include <cstdint>

#include "codec/lanes/coefficients.h"

namespace tundish::lanes {

// Computes 64 samples from 64 dequantized coefficients, both row by row. Transforms columns first
// and passes the low 16 bits of the results to the second pass. Defined for all input, and equal in
// every instruction set.
void idct(std::uint8_t* out, std::ptrdiff_t stride, const std::int16_t* coefficients);

// True if idct() equals libjpeg-turbo's SIMD code. That code adds some pairs of numbers in 16 bits,
// and differs if a sum does not fit; no encoder makes such a block from pixels. (libjpeg's C code
// also differs if a sample is beyond -384 .. 639 before clipping to 0 .. 255: the reference is the
// SIMD code of x86-64 and ARM.)
bool is_exact(const Block& block, const Quantization& quantization);
bool is_exact(const Coefficients& image);  // checks every block

}  // namespace tundish::lanes
