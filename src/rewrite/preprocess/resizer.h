// One image decoded, turned upright, resized and cropped: the pixels that a loader with the same
// transforms would give.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "augment/cpu/plan_runner.h"
#include "augment/transforms.h"
#include "codec/decode/decode.h"

namespace tundish {

// Interleaved RGB without gaps.
struct Pixels {
  Size size;
  std::vector<std::uint8_t> rgb;
};

bool is_gray(const Pixels& pixels);  // all channels are equal

// Decoded rows go straight through the resize: of the image itself only a few rows are in memory,
// but all of an image that is turned, progressive or interlaced. Keeps its memory from image to
// image. One thread.
class Resizer {
 public:
  // `orientation`: EXIF's, or 1 for pixels as they are stored. Throws Error as plan_view() does.
  std::optional<Fault> run(Pixels& out, Bytes image, const ImageHeader& header,
                           std::uint8_t orientation, const Transforms& transforms,
                           const Limits& limits);

  // Whether a pixel of the last image that was needed was not opaque.
  bool is_transparent() const { return is_transparent_; }

 private:
  PixelTable table_ = pixel_table(Transforms{});
  PlanRunner runner_;
  DecodeScratch decode_;
  std::vector<std::uint8_t> upright_;
  bool is_transparent_ = false;
};

}  // namespace tundish
