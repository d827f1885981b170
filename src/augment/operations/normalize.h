// torchvision Normalize: (x - mean) / std per channel, in float32.
#pragma once

#include "augment/image_mode.h"
#include "augment/pixel_table.h"
#include "base/fields.h"

namespace tundish {

struct Normalize {
  static constexpr const char* kName = "Normalize";
  static constexpr const char* kAbout =
      "(x - mean) / std per channel, in float32; uint8 images are first scaled to 0..1.";

  PerChannel mean = {{0.485, 0.456, 0.406}};  // mean of ImageNet
  PerChannel std = {{0.229, 0.224, 0.225}};
  bool operator==(const Normalize&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(FieldInfo{"mean", "mean of each channel", -kMaxNumber, kMaxNumber}, self.mean);
    visit(FieldInfo{"std", "standard deviation of each channel", -kMaxNumber, kMaxNumber},
          self.std);
  }
  void check() const;
  void check_mode(ImageMode mode) const;

  Dtype result_dtype(Dtype before) const {
    return before == Dtype::uint8 ? Dtype::float32 : before;
  }
  void apply(PixelValues& values) const;
};

}  // namespace tundish
