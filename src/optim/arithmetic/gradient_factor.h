// What every gradient of a step is multiplied with. CPU and GPU share this.
#pragma once

#include "base/host_device.h"

namespace tundish::optim {

// `factor` so far is 1 / scale; `norm` is that of all gradients times it. A norm that is NaN makes
// every gradient NaN, as torch.nn.utils.clip_grad_norm_ does.
TUNDISH_HOST_DEVICE double clipped_factor(double factor, double norm, double max_norm) {
  const double clip = max_norm / (norm + 1e-6);
  return clip > 1.0 ? factor : factor * clip;
}

}  // namespace tundish::optim
