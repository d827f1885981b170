// Hyper-parameters of the tensors that are updated alike.
#pragma once

#include <cstdint>

namespace tundish::optim {

// As the user gave them, in double; arithmetic/*.h derives the floats of one step. Each optimizer
// reads its own members. Mirrors tundish_optimizer_group of include/tundish.h.
struct Group {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;
  double momentum = 0;
  double dampening = 0;
  double trust_coefficient = 0.001;  // lars
  std::int64_t step = 1;             // the number of the step that is made now: 1 is the first one
  std::int32_t nesterov = 0;         // sgd, lars
  std::int32_t maximize = 0;
  std::int32_t decoupled = 0;          // adam: as adamw; lamb: decay before the norms
  std::int32_t always_adapt = 0;       // lars, lamb: a trust ratio also without weight decay
  std::int32_t trust_clip = 0;         // lars, lamb: the trust ratio is at most 1
  std::int32_t grad_averaging = 1;     // lamb, novograd: the gradient counts 1 - beta1
  std::int32_t bias_correction = 1;    // lamb, novograd; adam and adamw always have it
  std::int32_t reg_inside_moment = 0;  // novograd: divide and decay before the momentum
  std::int32_t init_zero = 0;          // novograd: the average of norms begins with 0
  std::int32_t reserved = 0;
  // On a GPU, in its memory; null: the members above. A step that is skipped does not count.
  const float* lr_at = nullptr;
  float* step_at = nullptr;  // steps made before this one; receives one more
};

}  // namespace tundish::optim
