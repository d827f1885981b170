// torchvision GaussianBlur: a Gaussian kernel of fixed size and random sigma.
#pragma once

#include "augment/operations/photometric/one_or_two.h"
#include "augment/plan.h"
#include "base/fields.h"
#include "base/random.h"

namespace tundish {

struct GaussianBlur {
  static constexpr const char* kName = "GaussianBlur";
  static constexpr const char* kAbout =
      "Blurs with a Gaussian kernel, whose sigma is drawn from a range.";

  OneOrTwo<int> kernel_size = {3, 3};  // horizontal, vertical
  OneOrTwo<double> sigma = {0.1, 2.0};
  bool operator==(const GaussianBlur&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(FieldInfo{"kernel_size", "odd numbers of pixels across and down", 1, kMaxSide},
          self.kernel_size);
    visit(FieldInfo{"sigma", "standard deviation in pixels, or the range it is drawn from", 0,
                    kMaxNumber},
          self.sigma);
  }
  void check() const;

  // Throws Error(argument) if half the kernel is not smaller than the image.
  void plan(View& view, Random& random) const;
  bool makes_pixels() const { return true; }
};

}  // namespace tundish
