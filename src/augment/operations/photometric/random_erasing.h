// torchvision RandomErasing: overwrites a random window with probability p. Works on levels before
// ToDtype and Normalize, and on the elements of the batch after them.
#pragma once

#include <array>
#include <optional>

#include "augment/dtype.h"
#include "augment/operations/photometric/erasing_value.h"
#include "augment/plan.h"
#include "base/fields.h"
#include "base/random.h"

namespace tundish {

struct RandomErasing {
  static constexpr const char* kName = "RandomErasing";
  static constexpr const char* kAbout =
      "Overwrites a random window with a value or with normal numbers, with probability p.";

  double p = 0.5;
  std::array<double, 2> scale = {0.02, 0.33};
  std::array<double, 2> ratio = {0.3, 3.3};
  ErasingValue value;
  bool inplace = false;
  bool operator==(const RandomErasing&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(FieldInfo{"p", "probability", 0, 1}, self.p);
    visit(FieldInfo{"scale", "smallest and largest share of the image's area", 0, 1}, self.scale);
    visit(FieldInfo{"ratio", "smallest and largest height / width", 0, kMaxNumber}, self.ratio);
    visit(FieldInfo{"value", "value of the window: one for all channels, three, or \"random\""},
          self.value);
    visit(FieldInfo{"inplace", "accepted for compatibility with torchvision; has no effect"},
          self.inplace);
  }
  void check() const;
  void check_on(Dtype dtype) const;  // what the transform works on

  void plan(View& view, Random& random) const;           // on levels
  void plan_elements(View& view, Random& random) const;  // after ToDtype or Normalize

 private:
  std::optional<Window> draw(Size image, Random& random) const;
};

}  // namespace tundish
