// torchvision RandomResizedCrop: crops a random area and aspect ratio and resizes it to one size.
#pragma once

#include <array>

#include "augment/plan.h"
#include "base/fields.h"
#include "base/random.h"

namespace tundish {

struct RandomResizedCrop {
  static constexpr const char* kName = "RandomResizedCrop";
  static constexpr const char* kAbout =
      "Crops a random window of random aspect ratio and resizes it to a fixed size.";

  Scheduled<Size> size;
  std::array<double, 2> scale = {0.08, 1.0};
  std::array<double, 2> ratio = {3.0 / 4.0, 4.0 / 3.0};
  Filter interpolation = Filter::bilinear;
  bool operator==(const RandomResizedCrop&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(FieldInfo{"size", "size of the result, in pixels", 1, kMaxSide}, self.size);
    visit(FieldInfo{"scale", "(min, max) share of the image's area", 0, kMaxNumber}, self.scale);
    visit(FieldInfo{"ratio", "(min, max) width / height of the part", 0, kMaxNumber}, self.ratio);
    visit(FieldInfo{"interpolation", "how the part is resized"}, self.interpolation);
  }
  void check() const;

  void plan(View& view, Random& random) const;
  bool makes_pixels() const { return true; }
  Size result_size(Size) const { return size; }
};

}  // namespace tundish
