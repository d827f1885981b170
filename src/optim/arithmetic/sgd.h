// SGD for one element, in the operation order of torch.optim.SGD. Shared by CPU and GPU.
#pragma once

#include "optim/arithmetic/weight_decay.h"
#include "optim/group.h"

namespace tundish::optim {

struct SgdValues {
  float weight_decay;
  float kept;             // factor for the momentum buffer
  float gradient_weight;  // factor for the gradient added to the buffer
  float momentum;         // Nesterov: factor for the buffer added to the gradient
  float negative_lr;
  std::int32_t nesterov;
};

// In the first step the buffer holds zeros and becomes the gradient, regardless of dampening.
TUNDISH_HOST_DEVICE SgdValues make_sgd_values(const Group& group) {
  const bool first = group.step <= 1;
  return {.weight_decay = static_cast<float>(group.weight_decay),
          .kept = first ? 0.0f : static_cast<float>(group.momentum),
          .gradient_weight = first ? 1.0f : static_cast<float>(1 - group.dampening),
          .momentum = static_cast<float>(group.momentum),
          .negative_lr = static_cast<float>(-group.lr),
          .nesterov = group.nesterov};
}

TUNDISH_HOST_DEVICE void update_sgd(float& weight, float gradient, const SgdValues& values) {
  const float decayed = add_decay(gradient, weight, values.weight_decay);
  weight = weight + values.negative_lr * decayed;
}

TUNDISH_HOST_DEVICE void update_sgd_momentum(float& weight, float gradient, float& buffer,
                                             const SgdValues& values) {
  const float decayed = add_decay(gradient, weight, values.weight_decay);
  buffer = buffer * values.kept + values.gradient_weight * decayed;
  const float beyond = decayed + values.momentum * buffer;
  weight = weight + values.negative_lr * (values.nesterov ? beyond : buffer);
}

}  // namespace tundish::optim
