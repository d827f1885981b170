// Values derived once per step: the floats of a group's hyper-parameters, the factor of gradients,
// the key of random rounding. Shared by CPU and GPU.
#pragma once

#include "base/random.h"
#include "optim/arithmetic/adam.h"
#include "optim/arithmetic/lamb.h"
#include "optim/arithmetic/lars.h"
#include "optim/arithmetic/lion.h"
#include "optim/arithmetic/novograd.h"
#include "optim/arithmetic/sgd.h"
#include "optim/optimizer_kind.h"

namespace tundish::optim {

// Only the member of the current optimizer is set.
struct GroupValues {
  SgdValues sgd;
  AdamValues adam;
  LionValues lion;
  LarsValues lars;
  LambValues lamb;
  NovoGradValues novograd;
};

TUNDISH_HOST_DEVICE GroupValues make_values(const Group& group, OptimizerKind kind) {
  GroupValues out{};
  switch (kind) {
    case OptimizerKind::sgd:
      out.sgd = make_sgd_values(group);
      break;
    case OptimizerKind::adam:
    case OptimizerKind::adamw:
      out.adam = make_adam_values(group, group.decoupled || kind == OptimizerKind::adamw);
      break;
    case OptimizerKind::lion:
      out.lion = make_lion_values(group);
      break;
    case OptimizerKind::lars:
      out.lars = make_lars_values(group);
      break;
    case OptimizerKind::lamb:
      out.lamb = make_lamb_values(group);
      break;
    case OptimizerKind::novograd:
      out.novograd = make_novograd_values(group);
      break;
  }
  return out;
}

// Returns `factor` (1 / scale) reduced to keep the global gradient norm at most max_norm. `norm` is
// measured after `factor`. A NaN norm yields NaN, as in torch.nn.utils.clip_grad_norm_.
TUNDISH_HOST_DEVICE double clipped_factor(double factor, double norm, double max_norm) {
  const double clip = max_norm / (norm + 1e-6);
  return clip > 1.0 ? factor : factor * clip;
}

// Selects the random numbers that round the elements of one tensor in one step.
constexpr std::uint64_t rounding_key(std::uint64_t seed, std::int64_t step, std::uint32_t tensor) {
  return mix(mix(mix(seed), static_cast<std::uint64_t>(step)), tensor);
}

}  // namespace tundish::optim
