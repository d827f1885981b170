// torchvision CenterCrop: crops the middle; a smaller image is padded with zeros.
#pragma once

#include "augment/plan.h"
#include "base/fields.h"
#include "base/random.h"

namespace tundish {

// Start of a centered window along one axis: Python's int(round((now - wanted) / 2)), ties to even.
// Negative if padding is needed; the left side then gets the smaller part of an odd padding.
int centered_start(int now, int wanted);

struct CenterCrop {
  static constexpr const char* kName = "CenterCrop";
  static constexpr const char* kAbout = "Crops the center; pads a smaller image with zeros.";

  Scheduled<Size> size;
  bool operator==(const CenterCrop&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(FieldInfo{"size", "size of the result, in pixels", 1, kMaxSide}, self.size);
  }

  void plan(View& view, Random& random) const;
  bool makes_pixels() const { return true; }
  Size result_size(Size) const { return size; }
};

}  // namespace tundish
