// Converts rows of samples to rows of RGB with AVX2.
#include "codec/lanes/register_avx2.h"

// The register type must be included first.
#include "codec/lanes/color_simd.h"

namespace tundish::lanes::avx2 {

void gray_row(const RowTask& task) { gray_simd<Register>(task); }

void color_row(const RowTask& task, Upsampling upsampling, Color color) {
  color_simd<Register>(task, upsampling, color);
}

}  // namespace tundish::lanes::avx2
