// torchvision FiveCrop and TenCrop: the corners and the middle; TenCrop adds their mirror images.
// Each sample produces 5 or 10 images.
#pragma once

#include <cstdint>

#include "augment/plan.h"
#include "base/fields.h"
#include "base/random.h"

namespace tundish {

struct FiveCrop {
  static constexpr const char* kName = "FiveCrop";
  static constexpr const char* kAbout =
      "Crops the four corners and the center: a batch is (N, 5, C, H, W).";
  static constexpr std::uint32_t kCrops = 5;

  Scheduled<Size> size;
  bool operator==(const FiveCrop&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(FieldInfo{"size", "size of each crop, in pixels", 1, kMaxSide}, self.size);
  }
  Size result_size(Size) const { return size; }

  // Plans one crop, in torchvision's order: top left, top right, bottom left, bottom right, middle.
  void plan_crop(View& view, std::uint32_t crop) const;
};

struct TenCrop {
  static constexpr const char* kName = "TenCrop";
  static constexpr const char* kAbout =
      "Crops the four corners and the center of the image and its mirror image: a batch is (N, 10, "
      "C, H, W).";
  static constexpr std::uint32_t kCrops = 10;

  Scheduled<Size> size;
  bool vertical_flip = false;
  bool operator==(const TenCrop&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(FieldInfo{"size", "size of each crop, in pixels", 1, kMaxSide}, self.size);
    visit(FieldInfo{"vertical_flip", "mirrored from top to bottom, not from left to right"},
          self.vertical_flip);
  }
  Size result_size(Size) const { return size; }

  void plan_crop(View& view, std::uint32_t crop) const;
};

}  // namespace tundish
