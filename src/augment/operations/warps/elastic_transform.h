// torchvision ElasticTransform: moves every pixel a little, smoothly across the image.
#pragma once

#include <optional>

#include "augment/operations/photometric/one_or_two.h"
#include "augment/plan.h"
#include "base/fields.h"
#include "base/random.h"

namespace tundish {

struct ElasticTransform {
  static constexpr const char* kName = "ElasticTransform";
  static constexpr const char* kAbout =
      "Displaces pixels at random: alpha sets the distance, sigma the smoothness.";

  OneOrTwo<double> alpha = {50.0, 50.0};  // horizontal, vertical
  OneOrTwo<double> sigma = {5.0, 5.0};
  Filter interpolation = Filter::bilinear;
  std::optional<Fill> fill = Fill{};
  bool operator==(const ElasticTransform&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(FieldInfo{"alpha", "how far pixels move, across and down", -kMaxAlpha, kMaxAlpha},
          self.alpha);
    visit(FieldInfo{"sigma", "pixels over which a move is smoothed, across and down; 0: not", 0,
                    kMaxSide / 8},
          self.sigma);
    visit(FieldInfo{"interpolation", "interpolation between pixels: nearest or bilinear"},
          self.interpolation);
    visit(FieldInfo{"fill",
                    "level outside the image, or one per channel; none: black, and "
                    "pixels of the border are mixed with it less",
                    0, 255},
          self.fill);
  }
  void check() const;

  // Throws Error(argument) if half the blur's kernel is not smaller than the image.
  void plan(View& view, Random& random) const;
  bool makes_pixels() const { return true; }

 private:
  static constexpr double kMaxAlpha = 1e6;
};

}  // namespace tundish
