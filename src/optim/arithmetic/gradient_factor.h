// The factor applied to every gradient of a step. Shared by CPU and GPU.
#pragma once

#include "base/host_device.h"

namespace tundish::optim {

// Returns `factor` (1 / scale) reduced to keep the global gradient norm at most max_norm. `norm` is
// measured after `factor`. A NaN norm yields NaN, as in torch.nn.utils.clip_grad_norm_.
TUNDISH_HOST_DEVICE double clipped_factor(double factor, double norm, double max_norm) {
  const double clip = max_norm / (norm + 1e-6);
  return clip > 1.0 ? factor : factor * clip;
}

}  // namespace tundish::optim
