// torchvision RandomChannelPermutation: puts red, green and blue in random order.
#pragma once

#include "augment/operations/photometric/color_draws.h"
#include "base/fields.h"

namespace tundish {

struct RandomChannelPermutation {
  static constexpr const char* kName = "RandomChannelPermutation";
  static constexpr const char* kAbout = "Puts red, green and blue in random order.";
  bool operator==(const RandomChannelPermutation&) const = default;

  template <class Self, class Visit>
  static void fields(Self&, Visit&&) {}

  void plan(View& view, Random& random) const { view.add(draw_channel_order(random)); }
  bool makes_pixels() const { return true; }
};

}  // namespace tundish
