// Options of one optimizer step.
#pragma once

#include <cstdint>
#include <span>

#include "optim/group.h"

namespace tundish::optim {

struct StepOptions {
  std::span<const Group> groups = {};

  // Gradients are first divided by *scale (the scale of a GradScaler). Null: no division.
  const float* scale = nullptr;
  // Maximum global gradient norm. Larger gradients are multiplied by max_norm / (norm + 1e-6), like
  // torch.nn.utils.clip_grad_norm_. 0 disables clipping.
  double max_norm = 0;
  float* norm_out = nullptr;  // receives the global norm, after the scale and before clipping

  // If *found_inf is not 0, nothing is updated. With check_finite it is set to 1 if a gradient is
  // not finite. Gradients are cleared in either case.
  float* found_inf = nullptr;
  bool check_finite = false;

  double ema_decay = 0;  // decay of TensorEntry::average; 0 leaves averages unchanged
  bool clear_gradients = false;

  // Rounds 16-bit parameters without a master stochastically, seeded by `seed`.
  bool stochastic_rounding = false;
  std::uint64_t seed = 0;
};

}  // namespace tundish::optim
