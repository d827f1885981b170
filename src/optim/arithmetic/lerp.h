// a + weight * (b - a), computed from the nearer end as torch.lerp does. Shared by CPU and GPU.
#pragma once

#include "base/host_device.h"

namespace tundish::optim {

struct Lerp {
  float weight;  // weight of b; if from_far, minus the weight of a
  bool from_far;
};

TUNDISH_HOST_DEVICE Lerp make_lerp(double weight_of_b) {
  const float weight = static_cast<float>(weight_of_b);
  return weight < 0.5f ? Lerp{weight, false} : Lerp{weight - 1.0f, true};
}

TUNDISH_HOST_DEVICE float lerp(float a, float b, const Lerp& lerp) {
  return (lerp.from_far ? b : a) + lerp.weight * (b - a);
}

}  // namespace tundish::optim
