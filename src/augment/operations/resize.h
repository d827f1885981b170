// torchvision Resize: resizes to a size, or the shorter side to a length.
#pragma once

#include "augment/plan.h"
#include "base/fields.h"
#include "base/random.h"

namespace tundish {

struct Resize {
  static constexpr const char* kName = "Resize";
  static constexpr const char* kAbout =
      "Resizes to (height, width), or the shorter side to a length with the aspect ratio kept.";

  Scheduled<SideOrSize> size;
  Filter interpolation = Filter::bilinear;
  std::optional<int> max_size = {};
  bool draft = false;
  bool operator==(const Resize&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(FieldInfo{"size", "(height, width), or the length of the shorter side, in pixels", 1,
                    kMaxSide},
          self.size);
    visit(FieldInfo{"interpolation", "how the image is resized"}, self.interpolation);
    visit(FieldInfo{"max_size", "maximum length of the longer side, if size is a length", 1,
                    kMaxSide},
          self.max_size);
    visit(FieldInfo{"draft",
                    "decode a JPEG at 1/2, 1/4 or 1/8 of its size where that is no smaller, as "
                    "Pillow's draft mode; first in the list only, on the CPU"},
          self.draft);
  }
  void check() const;

  // Throws Error(argument) if the longer side of a thin image would exceed kMaxPlannedSide.
  void plan(View& view, Random& random) const;
  bool makes_pixels() const { return true; }
  Size result_size(Size before) const;

 private:
  Size target(Size now) const;
};

}  // namespace tundish
