// Selects the random numbers that round the elements of one tensor in one step.
#pragma once

#include "base/random.h"

namespace tundish::optim {

constexpr std::uint64_t rounding_key(std::uint64_t seed, std::int64_t step, std::uint32_t tensor) {
  return mix(mix(mix(seed), static_cast<std::uint64_t>(step)), tensor);
}

}  // namespace tundish::optim
