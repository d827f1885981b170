// The order in which a GPU processes the images of a batch: the image with the longest work first,
// so that no long work starts after all other images have finished.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "cuda/augment/step_range.h"

namespace tundish::cuda {

// Approximate cost in hundredths of a microsecond on an H200 (bench gpu_augment).
inline int step_cost(const PixelStep& step) {
  switch (kind_of(step.op)) {
    case PixelKind::levels:
      return 1;
    case PixelKind::colors:
      return step.op == PixelOp::hue ? 20 : 12;
    case PixelKind::statistics:
      return 8;
    case PixelKind::neighbors:
      return step.op == PixelOp::sharpness ? 30 : 60;
    case PixelKind::places:
      if (step.op == PixelOp::elastic) return 150;
      return step.filter == Filter::nearest ? 20 : step.filter == Filter::bilinear ? 50 : 150;
    case PixelKind::noise:
      return step.op == PixelOp::noise ? 30 : 3;
    case PixelKind::tensors:
      return step.op == PixelOp::tensor_affine ? 50 : 20;
    case PixelKind::mix:
      return 40;
  }
  return 0;
}

// Fills `out` with the indices of `ranges`, the most expensive first.
inline void order_by_cost(std::vector<std::uint32_t>& out, std::span<const StepRange> ranges,
                          std::span<const PixelStep> steps) {
  std::vector<int> cost;
  cost.reserve(ranges.size());
  for (const StepRange& range : ranges) {
    int sum = 0;
    for (const PixelStep& step : steps.subspan(range.first, range.count)) sum += step_cost(step);
    cost.push_back(sum);
  }
  out.resize(ranges.size());
  std::iota(out.begin(), out.end(), 0u);
  std::sort(out.begin(), out.end(), [&](std::uint32_t a, std::uint32_t b) {
    return cost[a] != cost[b] ? cost[a] > cost[b] : a < b;
  });
}

}  // namespace tundish::cuda
