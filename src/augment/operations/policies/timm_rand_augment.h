// timm's RandAugment (rand_augment_transform).
#pragma once

#include <string>

#include "augment/operations/random_filter.h"
#include "augment/plan.h"
#include "base/fields.h"
#include "base/random.h"

namespace tundish {

struct TimmRandAugment {
  static constexpr const char* kName = "TimmRandAugment";
  static constexpr const char* kAbout = "timm's RandAugment, configured by timm's config string.";

  std::string config = "rand-m9-mstd0.5-inc1";
  Fill img_mean = {124, 116, 104};
  RandomFilter interpolation = RandomFilter::random;
  double translate_pct = 0.45;
  bool operator==(const TimmRandAugment&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(
        FieldInfo{
            "config",
            "sections after \"rand\": m magnitude, n operations, p probability of each, mstd "
            "spread of the magnitude (above 100: uniform), mmax its limit, inc1, tweights, t3a, "
            "t3aw"},
        self.config);
    visit(FieldInfo{"img_mean", "level outside the image, or one per channel", 0, 255},
          self.img_mean);
    visit(FieldInfo{"interpolation",
                    "interpolation of operations that move pixels; random: bilinear or bicubic"},
          self.interpolation);
    visit(FieldInfo{"translate_pct", "how far magnitude 10 moves, as a share of the side", 0, 1000},
          self.translate_pct);
  }

  void check() const;
  void plan(View& view, Random& random) const;
  bool makes_pixels() const { return true; }
};

}  // namespace tundish
