// Converts coefficients to samples with AVX2.
#include "codec/lanes/register_avx2.h"

// The register type must be included first.
#include "codec/lanes/blocks_simd.h"

namespace tundish::lanes::avx2 {

void order_quantization(QuantizationOrder* out, const std::uint16_t* natural) {
  order_simd(out, natural);
}

void render_unit(const UnitTask& task) { render_simd<Register>(task); }

}  // namespace tundish::lanes::avx2
