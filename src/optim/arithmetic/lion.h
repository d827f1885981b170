// Lion for one element, in timm's operation order. Shared by CPU and GPU.
#pragma once

#include "optim/arithmetic/lerp.h"
#include "optim/group.h"

namespace tundish::optim {

struct LionValues {
  float kept;  // factor for the weight: 1 - lr * weight_decay
  float beta1;
  float gradient_weight;  // 1 - beta1
  Lerp momentum;
  float negative_lr;
};

TUNDISH_HOST_DEVICE LionValues make_lion_values(const Group& group) {
  return {.kept = static_cast<float>(1 - group.lr * group.weight_decay),
          .beta1 = static_cast<float>(group.beta1),
          .gradient_weight = static_cast<float>(1 - group.beta1),
          .momentum = make_lerp(1 - group.beta2),
          .negative_lr = static_cast<float>(-group.lr)};
}

TUNDISH_HOST_DEVICE void update_lion(float& weight, float gradient, float& momentum,
                                     const LionValues& values) {
  const float update = momentum * values.beta1 + values.gradient_weight * gradient;
  const float above = update > 0.0f ? 1.0f : 0.0f;
  const float sign = update < 0.0f ? -1.0f : above;
  weight = weight * values.kept + values.negative_lr * sign;
  momentum = lerp(momentum, gradient, values.momentum);
}

}  // namespace tundish::optim
