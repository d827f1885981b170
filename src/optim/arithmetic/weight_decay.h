// Weight decay of one element. Shared by CPU and GPU.
#pragma once

#include "base/host_device.h"

namespace tundish::optim {

// Returns value + decay * weight. Without decay the weight is not read, as in torch: 0 times an
// infinite weight would be NaN.
TUNDISH_HOST_DEVICE float add_decay(float value, float weight, float decay) {
  return decay == 0.0f ? value : value + decay * weight;
}

}  // namespace tundish::optim
