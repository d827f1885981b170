// Hyper-parameters shared by the tensors of a parameter group.
#pragma once

#include <cstdint>

namespace tundish::optim {

// Values as the user passed them, in double; arithmetic/*.h derives the floats for one step. Each
// optimizer reads only its members. Mirrors tundish_optimizer_group of include/tundish.h.
struct Group {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;
  double momentum = 0;
  double dampening = 0;
  double trust_coefficient = 0.001;  // lars
  std::int64_t step = 1;             // number of the current step, from 1
  std::int32_t nesterov = 0;         // sgd, lars
  std::int32_t maximize = 0;
  std::int32_t decoupled = 0;          // adam: behaves as adamw; lamb: decays before the norms
  std::int32_t always_adapt = 0;       // lars, lamb: apply a trust ratio even without weight decay
  std::int32_t trust_clip = 0;         // lars, lamb: limit the trust ratio to 1
  std::int32_t grad_averaging = 1;     // lamb, novograd: scale the gradient by 1 - beta1
  std::int32_t bias_correction = 1;    // lamb, novograd; always on for adam and adamw
  std::int32_t reg_inside_moment = 0;  // novograd: divide and decay before the momentum
  std::int32_t init_zero = 0;          // novograd: start the average of norms at 0
  std::int32_t reserved = 0;
  // Addresses in GPU memory; null: use the members above. A skipped step does not count.
  const float* lr_at = nullptr;
  float* step_at = nullptr;  // number of steps before this one; incremented by the step
};

}  // namespace tundish::optim
