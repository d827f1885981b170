// Coefficients to samples with AVX2.
#include "lanes/register_avx2.h"

// The registers come first.
#include "lanes/blocks_lanewise.h"

namespace tundish::lanes::avx2 {

void order_quantisation(QuantisationOrder* out, const std::uint16_t* natural) {
  order_lanewise(out, natural);
}

void render_unit(const UnitTask& task) { render_lanewise<Register>(task); }

}  // namespace tundish::lanes::avx2
