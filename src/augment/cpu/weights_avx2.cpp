// Four doubles in a register. With eight, what is left to do one by one takes most of the time.
#include "augment/cpu/weights_lanewise.h"

namespace tundish {

void make_weights_avx2(std::int32_t* weight, const ResizedLine& line, const WeightsPlan& plan) {
  make_weights(weight, line, plan);
}

}  // namespace tundish
