// torchvision TrivialAugmentWide.
#pragma once

#include "augment/plan.h"
#include "base/fields.h"
#include "base/random.h"

namespace tundish {

struct TrivialAugmentWide {
  static constexpr const char* kName = "TrivialAugmentWide";
  static constexpr const char* kAbout =
      "Applies one random operation from a list of 14 with a random magnitude.";

  int num_magnitude_bins = 31;
  Filter interpolation = Filter::nearest;
  Fill fill{};
  bool operator==(const TrivialAugmentWide&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(FieldInfo{"num_magnitude_bins", "number of steps of the magnitude", 2, 10000},
          self.num_magnitude_bins);
    visit(FieldInfo{"interpolation", "interpolation of operations that move pixels"},
          self.interpolation);
    visit(FieldInfo{"fill", "level outside the image, or one per channel", 0, 255}, self.fill);
  }

  void plan(View& view, Random& random) const;
  bool makes_pixels() const { return true; }
};

}  // namespace tundish
