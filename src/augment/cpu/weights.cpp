#include "augment/cpu/weights_simd.h"

namespace tundish {

void make_weights_baseline(std::int32_t* weight, const ResizedLine& line, const WeightsPlan& plan) {
  make_weights(weight, line, plan);
}

MakeWeights make_weights_of(Cpu cpu) {
  return cpu >= Cpu::avx2 ? make_weights_avx2 : make_weights_baseline;
}

}  // namespace tundish
