// timm's ResizeKeepRatio: resizes an image to cover a size, or to fit into it.
#pragma once

#include <array>

#include "augment/operations/random_filter.h"
#include "augment/plan.h"
#include "base/fields.h"
#include "base/random.h"

namespace tundish {

struct ResizeKeepRatio {
  static constexpr const char* kName = "ResizeKeepRatio";
  static constexpr const char* kAbout =
      "Resizes to cover a size or fit into it, optionally scaled and stretched at random.";

  Size size;
  double longest = 0;
  RandomFilter interpolation = RandomFilter::bilinear;
  double random_scale_prob = 0;
  std::array<double, 2> random_scale_range = {0.85, 1.05};
  bool random_scale_area = false;
  double random_aspect_prob = 0;
  std::array<double, 2> random_aspect_range = {0.9, 1.11};
  bool operator==(const ResizeKeepRatio&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(
        FieldInfo{"size", "size in pixels; the result has this size in one dimension", 1, kMaxSide},
        self.size);
    visit(FieldInfo{"longest", "0: the image covers size; 1: it fits into size", 0, 1},
          self.longest);
    visit(FieldInfo{"interpolation", "how the image is resized; random: bilinear or bicubic"},
          self.interpolation);
    visit(FieldInfo{"random_scale_prob", "probability of a random scale", 0, 1},
          self.random_scale_prob);
    visit(FieldInfo{"random_scale_range", "(min, max) of the scale", 0, 1000},
          self.random_scale_range);
    visit(FieldInfo{"random_scale_area",
                    "the scale is a share of the area that is seen, as in RandomResizedCrop"},
          self.random_scale_area);
    visit(FieldInfo{"random_aspect_prob", "probability of a random stretch", 0, 1},
          self.random_aspect_prob);
    visit(FieldInfo{"random_aspect_range", "(min, max) width / height of the stretch", 0, 1000},
          self.random_aspect_range);
  }
  void check() const;

  // Throws Error(argument) if the longer side of a thin image would exceed kMaxPlannedSide.
  void plan(View& view, Random& random) const;
  bool makes_pixels() const { return true; }
  Size result_size(Size) const { return {}; }
};

}  // namespace tundish
