// torchvision GaussianNoise: adds an independent normal number to each level.
#pragma once

#include "augment/plan.h"
#include "base/fields.h"
#include "base/random.h"

namespace tundish {

struct GaussianNoise {
  static constexpr const char* kName = "GaussianNoise";
  static constexpr const char* kAbout =
      "Adds a normal random number to each level; mean and sigma are shares of 255.";

  double mean = 0.0;
  double sigma = 0.1;
  bool clip = true;
  bool operator==(const GaussianNoise&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(FieldInfo{"mean", "mean of the noise, where 1 is 255 levels", -kMaxNoise, kMaxNoise},
          self.mean);
    visit(FieldInfo{"sigma", "standard deviation, where 1 is 255 levels", 0, kMaxNoise},
          self.sigma);
    visit(FieldInfo{"clip", "levels stay within 0..255; otherwise they wrap around"}, self.clip);
  }

  void plan(View& view, Random& random) const {
    view.add(
        {.op = PixelOp::noise, .value = {mean, sigma, clip ? 1.0 : 0.0}, .key = random.next()});
  }
  bool makes_pixels() const { return true; }

 private:
  static constexpr double kMaxNoise = 16;  // limit of torchvision's 16-bit noise
};

}  // namespace tundish
