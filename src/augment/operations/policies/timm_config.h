// timm's config strings: "rand-m9-mstd0.5-inc1", "original-mstd0.5".
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "augment/operations/policies/timm_ops.h"

namespace tundish {

struct WeightedTimmOp {
  TimmOp op;
  double weight = 1;
};

struct TimmRandConfig {
  std::span<const WeightedTimmOp> ops;
  bool repeats = true;  // operations may repeat; false if the weights differ
  int count = 2;
  double p = 0.5;  // probability of each operation
  TimmMagnitude magnitude;
};

// Throws Error(argument) with the name of the transform if timm would refuse the text, or would
// silently ignore a part of the text.
TimmRandConfig timm_rand_config(const char* owner, const std::string& text);

enum class TimmPolicy : std::uint8_t { original, originalr, v0, v0r, three_augment };

struct TimmAutoConfig {
  TimmPolicy policy = TimmPolicy::original;
  double std = 0;  // standard deviation of the magnitude
};

TimmAutoConfig timm_auto_config(const char* owner, const std::string& text);

}  // namespace tundish
