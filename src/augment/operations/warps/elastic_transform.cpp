#include "augment/operations/warps/elastic_transform.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "augment/pixels/tensors/elastic_ops.h"

namespace tundish {

void ElasticTransform::check() const {
  if (interpolation == Filter::bicubic) {
    refuse_argument(kName,
                    "interpolation must be nearest or bilinear: bicubic gives levels below "
                    "0 and above 255, which torchvision lets wrap around");
  }
  if ((sigma[0] > 0.0) != (sigma[1] > 0.0)) {
    refuse_argument(kName, fmt::format("sigma must be two positive numbers, or 0, not ({}, {})",
                                       sigma[0], sigma[1]));
  }
}

void ElasticTransform::plan(View& view, Random& random) const {
  const int kernel = std::max(elastic_kernel(sigma[0]), elastic_kernel(sigma[1]));
  const auto [width, height] = view.size();
  if (kernel / 2 >= std::min(width, height)) {
    throw Error(ErrorCode::argument, {},
                fmt::format("ElasticTransform: sigma of ({}, {}) needs more than {} pixels across "
                            "and down, and the image has {}x{}; use a smaller sigma or a Resize "
                            "before it",
                            sigma[0], sigma[1], kernel / 2, width, height));
  }
  // The only call of the math library. It runs on the CPU so that a GPU uses the same weights.
  const auto ratio = [](double s) { return s > 0.0 ? std::exp(-0.5 / (s * s)) : 0.0; };
  view.add({.op = PixelOp::elastic,
            .filter = interpolation,
            .fill = fill.value_or(Fill{}),
            .value = {alpha[0], alpha[1], sigma[0], sigma[1], ratio(sigma[0]), ratio(sigma[1]),
                      fill ? 1.0 : 0.0},
            .key = random.next()});
}

}  // namespace tundish
