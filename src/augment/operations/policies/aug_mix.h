// torchvision AugMix.
#pragma once

#include <optional>

#include "augment/image_mode.h"
#include "augment/plan.h"
#include "base/fields.h"
#include "base/random.h"

namespace tundish {

struct AugMix {
  static constexpr const char* kName = "AugMix";
  static constexpr const char* kAbout =
      "Mixes the image with the results of several chains of operations.";

  int severity = 3;
  int mixture_width = 3;
  int chain_depth = -1;
  double alpha = 1.0;
  bool all_ops = true;
  Filter interpolation = Filter::bilinear;
  std::optional<Fill> fill = {};
  bool operator==(const AugMix&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(FieldInfo{"severity", "how strong the operations are", 1, 10}, self.severity);
    visit(FieldInfo{"mixture_width", "number of chains", 1, 100}, self.mixture_width);
    visit(FieldInfo{"chain_depth", "number of operations in a chain; 0 or less: 1 to 3, at random",
                    -1000, 100},
          self.chain_depth);
    visit(
        FieldInfo{
            "alpha",
            "parameter of the Dirichlet distributions of the weights: the larger, the more even",
            1e-6, 1e6},
        self.alpha);
    visit(FieldInfo{"all_ops", "also use brightness, color, contrast and sharpness"}, self.all_ops);
    visit(FieldInfo{"interpolation",
                    "interpolation of operations that move pixels: nearest or bilinear"},
          self.interpolation);
    visit(FieldInfo{"fill", "level outside the image, or one per channel; none: black", 0, 255},
          self.fill);
  }

  void check() const;
  // AugMix uses torchvision's tensor kernels, which round grays differently from colors.
  void check_mode(ImageMode mode) const {
    if (mode == ImageMode::l) refuse_argument(kName, "is not offered with mode=\"L\"");
  }
  void plan(View& view, Random& random) const;
  bool makes_pixels() const { return true; }
};

}  // namespace tundish
