#include "cuda/augment/step_order.h"

#include <doctest/doctest.h>

namespace tundish::cuda {
namespace {

TEST_CASE("images whose steps take longest come first, others in their order") {
  const std::vector<PixelStep> steps = {{.op = PixelOp::invert},
                                        {.op = PixelOp::hue},
                                        {.op = PixelOp::gaussian_blur},
                                        {.op = PixelOp::invert}};
  const std::vector<StepRange> ranges = {{0, 1}, {0, 0}, {1, 2}, {3, 1}, {2, 1}};
  std::vector<std::uint32_t> order{9};
  order_by_cost(order, ranges, steps);
  CHECK(order == std::vector<std::uint32_t>{2, 4, 0, 3, 1});
  order_by_cost(order, {}, steps);
  CHECK(order.empty());
}

}  // namespace
}  // namespace tundish::cuda
