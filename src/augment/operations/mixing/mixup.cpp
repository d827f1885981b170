#include "augment/operations/mixing/mixup.h"

#include <algorithm>
#include <cmath>

#include "augment/operations/draw_dirichlet.h"

namespace tundish {
namespace {

void check_alpha(const char* name, double alpha) {
  if (alpha <= 0.0) refuse_argument(name, fmt::format("alpha must be positive, not {}", alpha));
}

}  // namespace

void check_mixes(const char* name, Dtype dtype) {
  if (dtype != Dtype::uint8) return;
  refuse_argument(name,
                  "works on float images: put Normalize() or ToDtype(\"float32\", scale=True) "
                  "before it");
}

void MixUp::check() const { check_alpha(kName, alpha); }
void MixUp::check_on(Dtype dtype) const { check_mixes(kName, dtype); }

Mix MixUp::draw_mix(Size, Random& random) const {
  return {.kind = Mix::Kind::blend, .share = draw_dirichlet(random, 2, alpha)[0]};
}

void CutMix::check() const { check_alpha(kName, alpha); }
void CutMix::check_on(Dtype dtype) const { check_mixes(kName, dtype); }

Mix CutMix::draw_mix(Size image, Random& random) const {
  const double share = draw_dirichlet(random, 2, alpha)[0];
  const int x = static_cast<int>(random.below(static_cast<std::uint64_t>(image.width)));
  const int y = static_cast<int>(random.below(static_cast<std::uint64_t>(image.height)));
  const double half = 0.5 * std::sqrt(1.0 - share);
  const int wide = static_cast<int>(half * image.width);
  const int high = static_cast<int>(half * image.height);
  const int left = std::max(x - wide, 0), right = std::min(x + wide, image.width);
  const int top = std::max(y - high, 0), bottom = std::min(y + high, image.height);
  const double area = static_cast<double>(right - left) * (bottom - top);
  return {.kind = Mix::Kind::cut,
          .share = 1.0 - area / (static_cast<double>(image.width) * image.height),
          .box = {left, top, right - left, bottom - top}};
}

}  // namespace tundish
