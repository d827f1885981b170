// What one step of an optimizer is asked to do.
#pragma once

#include <cstdint>
#include <span>

#include "optim/group.h"

namespace tundish::optim {

struct StepOptions {
  std::span<const Group> groups = {};

  // Gradients are divided by *scale first (the scale of a GradScaler). Null: by 1.
  const float* scale = nullptr;
  // Above this norm of all gradients they are multiplied by max_norm / (norm + 1e-6), as
  // torch.nn.utils.clip_grad_norm_ does. 0: no limit.
  double max_norm = 0;
  float* norm_out = nullptr;  // receives that norm, after the scale and before the limit

  // When *found_inf is not 0, nothing is updated. With check_finite it becomes 1 if a gradient is
  // not finite. Gradients are cleared all the same.
  float* found_inf = nullptr;
  bool check_finite = false;

  double ema_decay = 0;  // of TensorEntry::average; 0: averages stay as they are
  bool clear_gradients = false;

  // Parameters of 16 bits without a master are rounded at random; the seed chooses the numbers.
  bool stochastic_rounding = false;
  std::uint64_t seed = 0;
};

}  // namespace tundish::optim
