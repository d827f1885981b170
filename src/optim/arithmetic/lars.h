// LARS for one element, in timm's operation order. Shared by CPU and GPU.
#pragma once

#include "optim/arithmetic/sgd.h"

namespace tundish::optim {

struct LarsValues {
  SgdValues sgd;  // without weight decay, which is applied before the ratio
  float weight_decay;
  float ratio;  // trust ratio of the tensor
};

TUNDISH_HOST_DEVICE LarsValues make_lars_values(const Group& group) {
  LarsValues values{make_sgd_values(group), static_cast<float>(group.weight_decay), 1.0f};
  values.sgd.weight_decay = 0.0f;
  return values;
}

// Returns a tensor's trust ratio from the norms of its weights and gradients.
TUNDISH_HOST_DEVICE float lars_ratio(const Group& group, double weights, double gradients) {
  if (group.weight_decay == 0 && !group.always_adapt) return 1.0f;
  double ratio = 1;
  if (weights > 0 && gradients > 0) {
    ratio =
        group.trust_coefficient * weights / (gradients + weights * group.weight_decay + group.eps);
  }
  if (group.trust_clip) {
    ratio /= group.lr;
    ratio = ratio > 1 ? 1 : ratio;
  }
  return static_cast<float>(ratio);
}

TUNDISH_HOST_DEVICE void update_lars(float& weight, float gradient, const LarsValues& values) {
  update_sgd(weight, add_decay(gradient, weight, values.weight_decay) * values.ratio, values.sgd);
}

TUNDISH_HOST_DEVICE void update_lars_momentum(float& weight, float gradient, float& buffer,
                                              const LarsValues& values) {
  const float adapted = add_decay(gradient, weight, values.weight_decay) * values.ratio;
  update_sgd_momentum(weight, adapted, buffer, values.sgd);
}

}  // namespace tundish::optim
