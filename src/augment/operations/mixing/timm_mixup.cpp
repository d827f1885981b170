#include "augment/operations/mixing/timm_mixup.h"

#include <algorithm>
#include <cmath>

#include "augment/operations/draw_dirichlet.h"

namespace tundish {
namespace {

// Draws like NumPy's randint(low, high).
int between(int low, int high, Random& random) {
  return low + static_cast<int>(random.below(static_cast<std::uint64_t>(high - low)));
}

struct Range {
  int from, to;
};

Range box_side(int length, double share, Random& random) {
  const int cut = static_cast<int>(length * std::sqrt(1.0 - share));
  const int middle = between(0, length, random);
  return {std::clamp(middle - cut / 2, 0, length), std::clamp(middle + (cut + 1) / 2, 0, length)};
}

Range box_side_within(int length, const std::array<double, 2>& minmax, Random& random) {
  const int low = static_cast<int>(length * minmax[0]), high = static_cast<int>(length * minmax[1]);
  const int cut = high > low ? between(low, high, random) : low;
  const int from = between(0, length - cut + 1, random);
  return {from, from + cut};
}

}  // namespace

void TimmMixup::check() const {
  if (mixup_alpha <= 0.0 && cutmix_alpha <= 0.0 && !cutmix_minmax) {
    refuse_argument(kName, "one of mixup_alpha, cutmix_alpha and cutmix_minmax must be given");
  }
  if (cutmix_minmax && (*cutmix_minmax)[0] >= (*cutmix_minmax)[1]) {
    refuse_argument(kName, fmt::format("cutmix_minmax must be (min, max), not ({}, {})",
                                       (*cutmix_minmax)[0], (*cutmix_minmax)[1]));
  }
}

Mix TimmMixup::draw_mix(Size image, Random& random) const {
  if (random.uniform() >= prob) return {};
  const double cut_alpha = cutmix_minmax ? 1.0 : cutmix_alpha;
  const bool both = mixup_alpha > 0.0 && cut_alpha > 0.0;
  const bool cuts = both ? random.uniform() < switch_prob : mixup_alpha <= 0.0;
  const double alpha = cuts ? cut_alpha : mixup_alpha;
  const double share = draw_dirichlet(random, 2, alpha)[0];
  Mix out{.kind = Mix::Kind::blend, .share = share};
  if (share == 1.0) return {};
  if (cuts) {
    const auto side = [&](int length) {
      return cutmix_minmax ? box_side_within(length, *cutmix_minmax, random)
                           : box_side(length, share, random);
    };
    const Range rows = side(image.height), columns = side(image.width);
    out.kind = Mix::Kind::cut;
    out.box = {columns.from, rows.from, columns.to - columns.from, rows.to - rows.from};
    if (correct_lam || cutmix_minmax) {
      const double area = static_cast<double>(out.box.width) * out.box.height;
      out.share = 1.0 - area / (static_cast<double>(image.width) * image.height);
    }
  }
  if (mode != MixMode::batch) out.share = static_cast<float>(out.share);  // like timm's arrays
  return out;
}

}  // namespace tundish
