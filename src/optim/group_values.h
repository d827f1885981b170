// The floats that a group's hyper-parameters become in one step. CPU and GPU share this.
#pragma once

#include "optim/arithmetic/adam.h"
#include "optim/arithmetic/sgd.h"
#include "optim/optimizer_kind.h"

namespace tundish::optim {

// Each optimiser has its own member.
struct GroupValues {
  SgdValues sgd;
  AdamValues adam;
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
    default:
      break;
  }
  return out;
}

}  // namespace tundish::optim
