// NovoGrad for one element, by the formulas of Apex's FusedNovoGrad. Shared by CPU and GPU.
#pragma once

#include <cmath>

#include "optim/arithmetic/weight_decay.h"
#include "optim/group.h"

namespace tundish::optim {

struct NovoGradValues {
  float beta1;
  float gradient_weight;
  float correction;
  float root_correction;
  float eps;
  float weight_decay;
  float lr;
  std::int32_t reg_inside_moment;
  float denominator;  // per tensor
};

TUNDISH_HOST_DEVICE NovoGradValues make_novograd_values(const Group& group) {
  const double steps = static_cast<double>(group.step);
  const bool corrected = group.bias_correction != 0;
  const double correction1 = corrected ? 1 - ::pow(group.beta1, steps) : 1;
  const double correction2 = corrected ? 1 - ::pow(group.beta2, steps) : 1;
  return {.beta1 = static_cast<float>(group.beta1),
          .gradient_weight = group.grad_averaging ? static_cast<float>(1 - group.beta1) : 1.0f,
          .correction = static_cast<float>(correction1),
          .root_correction = static_cast<float>(::sqrt(correction2)),
          .eps = static_cast<float>(group.eps),
          .weight_decay = static_cast<float>(group.weight_decay),
          .lr = static_cast<float>(group.lr),
          .reg_inside_moment = group.reg_inside_moment,
          .denominator = 1.0f};
}

// Returns the moving average of a tensor's gradient norm after this step.
TUNDISH_HOST_DEVICE float novograd_norm(const Group& group, float before, double norm) {
  if (group.step <= 1 && !group.init_zero) return static_cast<float>(norm);
  const double old = static_cast<double>(before);
  return static_cast<float>(::sqrt(group.beta2 * (old * old) + (1 - group.beta2) * (norm * norm)));
}

TUNDISH_HOST_DEVICE float novograd_denominator(float norm, const NovoGradValues& values) {
  return norm / values.root_correction + values.eps;
}

TUNDISH_HOST_DEVICE void update_novograd(float& weight, float gradient, float& first,
                                         const NovoGradValues& values) {
  const bool inside = values.reg_inside_moment != 0;
  const float regular = add_decay(gradient / values.denominator, weight, values.weight_decay);
  first = values.beta1 * first + values.gradient_weight * (inside ? regular : gradient);
  const float corrected = first / values.correction;
  const float outside = add_decay(corrected / values.denominator, weight, values.weight_decay);
  weight = weight - values.lr * (inside ? corrected : outside);
}

}  // namespace tundish::optim
