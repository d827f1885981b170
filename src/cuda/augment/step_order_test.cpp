#include "cuda/augment/step_order.h"

#include <doctest/doctest.h>

#include "cuda/augment/step_scratch.h"

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

TEST_CASE("scratch holds sums of all levels or the planes of a JPEG, and only some steps need it") {
  for (int width = 1; width < 70; ++width) {
    for (int height : {1, 2, 7, 8, 9, 16, 17, 33, 1000}) {
      const Size size{width, height};
      CHECK(scratch_floats(size) % 16 == 0);
      CHECK(scratch_floats(size) >= levels_of(size));
      CHECK(scratch_floats(size) * sizeof(float) >= jpeg_samples(size));
      CHECK(scratch_bytes(size) - sizeof(float) * scratch_floats(size) >= levels_of(size));
      const std::vector<PixelStep> jpeg = {{.op = PixelOp::invert}, {.op = PixelOp::jpeg}};
      CHECK(needs_scratch(jpeg, size) == (jpeg_samples(size) > levels_of(size)));
    }
  }
  CHECK(jpeg_samples({17, 9}) == 64 * (3 * 2 + 2 * 2 * 1));
  const Size usual{224, 224};
  CHECK_FALSE(needs_scratch({}, usual));
  for (const PixelOp op : {PixelOp::gaussian_blur, PixelOp::jpeg, PixelOp::tensor_affine}) {
    CHECK_FALSE(needs_scratch(std::vector<PixelStep>{{.op = op}}, usual));
  }
  for (const PixelOp op : {PixelOp::elastic, PixelOp::mix_begin}) {
    CHECK(needs_scratch(std::vector<PixelStep>{{.op = PixelOp::invert}, {.op = op}}, usual));
  }
}

}  // namespace
}  // namespace tundish::cuda
