// Decodes an image, makes it upright, resizes and crops it: gives the same pixels as a loader with
// the same transforms.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "augment/cpu/plan_runner.h"
#include "augment/transforms.h"
#include "codec/decode/decode.h"

namespace tundish {

// Interleaved RGB without gaps.
struct RgbImage {
  Size size;
  std::vector<std::uint8_t> rgb;
};

bool is_gray(const RgbImage& pixels);  // all channels are equal

// Decoded rows go straight through the resize, so only a few rows of the image are in memory. An
// image that is rotated, progressive or interlaced is in memory as a whole. Reuses memory between
// images. One thread.
class Resizer {
 public:
  // `orientation`: from EXIF, or 1 for pixels as stored. Throws Error as plan_view() does.
  std::optional<Fault> run(RgbImage& out, Bytes image, const ImageHeader& header,
                           std::uint8_t orientation, const Transforms& transforms,
                           const Limits& limits);

  // Returns true if a needed pixel of the last image was not opaque.
  bool is_transparent() const { return is_transparent_; }

 private:
  PixelTable table_ = pixel_table(Transforms{});
  PlanRunner runner_;
  DecodeScratch decode_;
  std::vector<std::uint8_t> upright_;
  bool is_transparent_ = false;
};

}  // namespace tundish
