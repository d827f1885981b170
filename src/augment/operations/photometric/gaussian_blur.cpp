#include "augment/operations/photometric/gaussian_blur.h"

#include <fmt/format.h>

#include <cmath>

namespace tundish {

void GaussianBlur::check() const {
  const auto [across, down] = kernel_size.pair();
  if (across % 2 == 0 || down % 2 == 0) {
    refuse_argument(kName, fmt::format("kernel_size must be odd, not ({}, {})", across, down));
  }
  const auto [low, high] = sigma.pair();
  if (!(low > 0.0 && low <= high)) {
    refuse_argument(kName, fmt::format("sigma must be (min, max) of positive numbers, not ({}, {})",
                                       low, high));
  }
}

void GaussianBlur::plan(View& view, Random& random) const {
  const double drawn = random.uniform(sigma[0], sigma[1]);
  const auto [across, down] = kernel_size.pair();
  const auto [width, height] = view.size();
  if (across / 2 >= width || down / 2 >= height) {
    throw Error(ErrorCode::argument, {},
                fmt::format("GaussianBlur: half of the kernel of {}x{} (width x height) is not "
                            "smaller than the image of {}x{}; use a smaller kernel_size or a "
                            "Resize before it",
                            across, down, width, height));
  }
  // The only call of the math library. It runs on the CPU so that a GPU uses the same weights.
  const double ratio = std::exp(-0.5 / (drawn * drawn));
  view.add({.op = PixelOp::gaussian_blur,
            .value = {static_cast<double>(across), static_cast<double>(down), drawn, drawn, ratio,
                      ratio}});
}

}  // namespace tundish
