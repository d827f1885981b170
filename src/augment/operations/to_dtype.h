// torchvision v2.ToDtype(dtype, scale): with scale, uint8 0..255 becomes 0..1.
#pragma once

#include "augment/pixel_table.h"
#include "base/fields.h"

namespace tundish {

struct ToDtype {
  static constexpr const char* kName = "ToDtype";
  static constexpr const char* kAbout =
      "Converts the element type; with scale, levels 0..255 become 0..1.";

  Dtype dtype = Dtype::float32;
  bool scale = false;
  bool operator==(const ToDtype&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(FieldInfo{"dtype", "element type of the images"}, self.dtype);
    visit(FieldInfo{"scale", "levels 0..255 become 0..1"}, self.scale);
  }

  Dtype result_dtype(Dtype) const { return dtype; }
  void apply(PixelValues& values) const;
};

}  // namespace tundish
