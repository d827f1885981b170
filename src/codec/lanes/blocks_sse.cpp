// Converts coefficients to samples with SSE4.
#include "codec/lanes/register_sse.h"

// The register type must be included first.
#include "codec/lanes/blocks_simd.h"

namespace tundish::lanes::sse {

void order_quantization(QuantizationOrder* out, const std::uint16_t* natural) {
  order_simd(out, natural);
}

void render_unit(const UnitTask& task) { render_simd<Register>(task); }

}  // namespace tundish::lanes::sse
