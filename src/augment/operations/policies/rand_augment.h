// torchvision RandAugment.
#pragma once

#include "augment/plan.h"
#include "base/fields.h"
#include "base/random.h"

namespace tundish {

struct RandAugment {
  static constexpr const char* kName = "RandAugment";
  static constexpr const char* kAbout =
      "Applies random operations from a list of 14, all with the same magnitude.";

  int num_ops = 2;
  int magnitude = 9;
  int num_magnitude_bins = 31;
  Filter interpolation = Filter::nearest;
  Fill fill{};
  bool operator==(const RandAugment&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(FieldInfo{"num_ops", "number of operations, applied in sequence", 0, 1000}, self.num_ops);
    visit(FieldInfo{"magnitude", "strength, from 0 to num_magnitude_bins - 1", 0, 9999},
          self.magnitude);
    visit(FieldInfo{"num_magnitude_bins", "number of steps of the magnitude", 2, 10000},
          self.num_magnitude_bins);
    visit(FieldInfo{"interpolation", "interpolation of operations that move pixels"},
          self.interpolation);
    visit(FieldInfo{"fill", "level outside the image, or one per channel", 0, 255}, self.fill);
  }

  void check() const;
  void plan(View& view, Random& random) const;
  bool makes_pixels() const { return true; }
};

}  // namespace tundish
