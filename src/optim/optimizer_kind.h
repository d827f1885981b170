// The optimizers that the engine implements.
#pragma once

#include <cstdint>

namespace tundish::optim {

// Numbers match tundish_optimizer_new(). NVLAMB is lamb with Group::always_adapt.
enum class OptimizerKind : std::int32_t {
  sgd = 0,
  adam = 1,
  adamw = 2,
  lion = 3,
  lars = 4,
  lamb = 5,
  novograd = 6,
};
inline constexpr int kOptimizerKinds = 7;

}  // namespace tundish::optim
