// Four doubles per register. With eight, the scalar remainder takes most of the time.
#include "augment/cpu/weights_simd.h"

namespace tundish {

void make_weights_avx2(std::int32_t* weight, const ResizedLine& line, const WeightsPlan& plan) {
  make_weights(weight, line, plan);
}

}  // namespace tundish
