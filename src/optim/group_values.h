// The floats derived from a group's hyper-parameters for one step. Shared by CPU and GPU.
#pragma once

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

}  // namespace tundish::optim
