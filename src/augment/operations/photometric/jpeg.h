// torchvision JPEG: compresses with a random quality and decompresses the result.
#pragma once

#include "augment/operations/photometric/one_or_two.h"
#include "augment/pixels/blur/jpeg_round_trip.h"
#include "augment/plan.h"
#include "base/fields.h"
#include "base/random.h"

namespace tundish {

struct JPEG {
  static constexpr const char* kName = "JPEG";
  static constexpr const char* kAbout =
      "Compresses to JPEG and decompresses, as Pillow does; the quality is drawn from a range.";

  OneOrTwo<int> quality = {75, 75};
  bool operator==(const JPEG&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(FieldInfo{"quality", "quality, or the lowest and the highest quality", 1, 100},
          self.quality);
  }
  void check() const {
    const auto [low, high] = quality.pair();
    if (low > high) {
      refuse_argument(kName, fmt::format("quality must be (min, max), not ({}, {})", low, high));
    }
  }

  void plan(View& view, Random& random) const {
    const auto [low, high] = quality.pair();
    const auto [width, height] = view.size();
    if (width > kMaxJpegSide || height > kMaxJpegSide) {
      throw Error(ErrorCode::argument, {},
                  fmt::format("JPEG: no side may have more than {} pixels, and the image has {}x{}",
                              kMaxJpegSide, width, height));
    }
    const auto more = random.below(static_cast<std::uint64_t>(high - low) + 1);
    view.add({.op = PixelOp::jpeg, .value = {low + static_cast<double>(more)}});
  }
  bool makes_pixels() const { return true; }
};

}  // namespace tundish
