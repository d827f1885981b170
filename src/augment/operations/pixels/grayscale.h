// torchvision Grayscale: colours become greys.
#pragma once

#include "augment/plan.h"
#include "core/fields.h"
#include "core/random.h"

namespace tundish {

struct Grayscale {
  static constexpr const char* kName = "Grayscale";
  static constexpr const char* kAbout = "Colours become greys, in three equal channels.";

  int num_output_channels = 1;  // torchvision's default
  bool operator==(const Grayscale&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(FieldInfo{"num_output_channels", "3: a batch is RGB; others are refused", 1, 3},
          self.num_output_channels);
  }
  void check() const {
    if (num_output_channels == 3) return;
    refuse_argument(kName, fmt::format("num_output_channels must be 3, not {}: a batch is RGB; "
                                       "take one channel of the batch, images[:, :1]",
                                       num_output_channels));
  }

  void plan(View& view, Random&) const { view.add({.op = PixelOp::grayscale}); }
  bool makes_pixels() const { return true; }
};

}  // namespace tundish
