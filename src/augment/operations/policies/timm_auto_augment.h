// timm's AutoAugment and 3-Augment (auto_augment_transform).
#pragma once

#include <string>

#include "augment/operations/random_filter.h"
#include "augment/plan.h"
#include "base/fields.h"
#include "base/random.h"

namespace tundish {

struct TimmAutoAugment {
  static constexpr const char* kName = "TimmAutoAugment";
  static constexpr const char* kAbout =
      "timm's AutoAugment policies, or the 3-Augment of DeiT III (\"3a\").";

  std::string config = "original";
  Fill img_mean = {124, 116, 104};
  RandomFilter interpolation = RandomFilter::random;
  double translate_pct = 0.45;
  bool operator==(const TimmAutoAugment&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(
        FieldInfo{
            "config",
            "original, originalr, v0, v0r or 3a; after it perhaps -mstd and the spread of the "
            "magnitude"},
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
