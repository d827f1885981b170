// Coefficients to samples with SSE4.
#include "lanes/register_sse.h"

// The registers come first.
#include "lanes/blocks_lanewise.h"

namespace tundish::lanes::sse {

void order_quantisation(QuantisationOrder* out, const std::uint16_t* natural) {
  order_lanewise(out, natural);
}

void render_unit(const UnitTask& task) { render_lanewise<Register>(task); }

}  // namespace tundish::lanes::sse
