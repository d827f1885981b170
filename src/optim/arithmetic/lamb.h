// LAMB for one element, in timm's operation order. Shared by CPU and GPU. A step first computes the
// moments, then the norms of all weights and updates of the tensor, then the weights.
#pragma once

#include <cmath>

#include "optim/arithmetic/weight_decay.h"
#include "optim/group.h"

namespace tundish::optim {

struct LambValues {
  float beta1;
  float gradient_weight;
  float beta2;
  float square_weight;  // 1 - beta2
  float correction;
  float root_correction;
  float eps;
  float weight_decay;  // added to the update; 0 when decoupled
  float decay;         // before the norms: -lr * weight_decay when decoupled, else 0
  float negative_lr;
  float ratio;  // trust ratio of the tensor
};

TUNDISH_HOST_DEVICE LambValues make_lamb_values(const Group& group) {
  const double steps = static_cast<double>(group.step);
  const bool corrected = group.bias_correction != 0;
  const double correction1 = corrected ? 1 - ::pow(group.beta1, steps) : 1;
  const double correction2 = corrected ? 1 - ::pow(group.beta2, steps) : 1;
  const double decay = group.decoupled ? -group.lr * group.weight_decay : 0;
  return {.beta1 = static_cast<float>(group.beta1),
          .gradient_weight = group.grad_averaging ? static_cast<float>(1 - group.beta1) : 1.0f,
          .beta2 = static_cast<float>(group.beta2),
          .square_weight = static_cast<float>(1 - group.beta2),
          .correction = static_cast<float>(correction1),
          .root_correction = static_cast<float>(::sqrt(correction2)),
          .eps = static_cast<float>(group.eps),
          .weight_decay = group.decoupled ? 0.0f : static_cast<float>(group.weight_decay),
          .decay = static_cast<float>(decay),
          .negative_lr = static_cast<float>(-group.lr),
          .ratio = 1.0f};
}

// Returns a tensor's trust ratio from the norms of its weights and updates.
TUNDISH_HOST_DEVICE float lamb_ratio(const Group& group, double weights, double updates) {
  if (group.weight_decay == 0 && !group.always_adapt) return 1.0f;
  double ratio = weights > 0 && updates > 0 ? weights / updates : 1;
  if (group.trust_clip) ratio = ratio > 1 ? 1 : ratio;
  return static_cast<float>(ratio);
}

TUNDISH_HOST_DEVICE void lamb_moments(float gradient, float& first, float& second,
                                      const LambValues& values) {
  first = first * values.beta1 + values.gradient_weight * gradient;
  second = second * values.beta2 + values.square_weight * gradient * gradient;
}

// Returns the decayed weight that enters the norm and receives the update.
TUNDISH_HOST_DEVICE float lamb_kept(float weight, const LambValues& values) {
  return add_decay(weight, weight, values.decay);
}

TUNDISH_HOST_DEVICE float lamb_update(float kept, float first, float second,
                                      const LambValues& values) {
  const float denominator = ::sqrtf(second) / values.root_correction + values.eps;
  return add_decay(first / values.correction / denominator, kept, values.weight_decay);
}

TUNDISH_HOST_DEVICE void lamb_weight(float& weight, float first, float second,
                                     const LambValues& values) {
  const float kept = lamb_kept(weight, values);
  const float update = lamb_update(kept, first, second, values);
  weight = kept + values.negative_lr * (update * values.ratio);
}

}  // namespace tundish::optim
