// timm's TrimBorder: removes the pixels along each edge.
#pragma once

#include "augment/plan.h"
#include "base/fields.h"
#include "base/random.h"

namespace tundish {

struct TrimBorder {
  static constexpr const char* kName = "TrimBorder";
  static constexpr const char* kAbout = "Removes a border from the image.";

  int border_size = 0;
  bool operator==(const TrimBorder&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(FieldInfo{"border_size", "pixels along each edge", 0, kMaxSide}, self.border_size);
  }

  // Throws Error(argument) if nothing of the image would remain.
  void plan(View& view, Random& random) const;
  Size result_size(Size before) const;
};

}  // namespace tundish
