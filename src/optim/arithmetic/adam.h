// Adam and AdamW for one element, in torch.optim.Adam's operation order. Shared by CPU and GPU.
#pragma once

#include <cmath>

#include "optim/arithmetic/lerp.h"
#include "optim/arithmetic/weight_decay.h"
#include "optim/group.h"

namespace tundish::optim {

struct AdamValues {
  float kept;          // factor for the weight: 1 - lr * weight_decay; 1 for Adam
  float weight_decay;  // added to the gradient; 0 for AdamW
  Lerp first;
  float beta2;
  float square_weight;  // 1 - beta2
  float root_correction;
  float eps;
  float negative_step;
};

TUNDISH_HOST_DEVICE AdamValues make_adam_values(const Group& group, bool decoupled) {
  const double steps = static_cast<double>(group.step);
  const double correction1 = 1 - ::pow(group.beta1, steps);
  const double correction2 = 1 - ::pow(group.beta2, steps);
  return {.kept = decoupled ? static_cast<float>(1 - group.lr * group.weight_decay) : 1.0f,
          .weight_decay = decoupled ? 0.0f : static_cast<float>(group.weight_decay),
          .first = make_lerp(1 - group.beta1),
          .beta2 = static_cast<float>(group.beta2),
          .square_weight = static_cast<float>(1 - group.beta2),
          .root_correction = static_cast<float>(::sqrt(correction2)),
          .eps = static_cast<float>(group.eps),
          .negative_step = static_cast<float>(-(group.lr / correction1))};
}

TUNDISH_HOST_DEVICE void update_adam(float& weight, float gradient, float& first, float& second,
                                     const AdamValues& values) {
  const float kept = weight * values.kept;
  const float decayed = add_decay(gradient, kept, values.weight_decay);
  first = lerp(first, decayed, values.first);
  second = second * values.beta2 + values.square_weight * decayed * decayed;
  const float denominator = ::sqrtf(second) / values.root_correction + values.eps;
  weight = kept + values.negative_step * first / denominator;
}

}  // namespace tundish::optim
