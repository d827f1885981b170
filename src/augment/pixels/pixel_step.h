// One operation on the pixels of an image, with every number drawn. Plain data: stored in a plan
// and copied to a GPU unchanged.
#pragma once

#include <array>
#include <cstdint>

#include "augment/filter.h"
#include "base/image.h"

namespace tundish {

// The comment beside each operation lists the PixelStep fields that it uses. The names are shown by
// `tundish view --state`. Sorted by PixelKind.
enum class PixelOp : std::uint8_t {
  brightness,  // value[0]: factor
  invert,
  posterize,         // value[0]: number of bits kept
  solarize,          // value[0]: lowest level that is inverted
  solarize_add,      // value[0]: added to levels below value[1], capped at 255
  saturation,        // value[0]: factor
  hue,               // value[0]: 0 .. 255, added to the hue of Pillow's HSV
  grayscale,         //
  permute_channels,  // value[0 .. 2]: source channel of red, green, blue
  contrast,          // value[0]: factor
  autocontrast,      //
  equalize,          //
  sharpness,         // value[0]: factor
  gaussian_blur,     // value[0 .. 5]: kernel width and height, sigma across and down, and
                     // exp(-1 / (2 sigma^2)) of both
  box_blur,          // value[0]: radius of Pillow's GaussianBlur filter
  jpeg,              // value[0]: quality
  affine,            // value[0 .. 5]: a .. f: (x, y) shows (ax + by + c, dx + ey + f); filter, fill
  perspective,       // value[0 .. 7]: Pillow's coefficients a .. h; filter, fill
  elastic,           // value[0 .. 3]: alpha and sigma across and down; value[4, 5]: exp(-1 / (2
                     // sigma^2)) of both; value[6] as in tensor_affine; key, filter, fill
  noise,             // value[0 .. 2]: mean, sigma, 1 to clip; key
  erase,             // window; value[0]: 0: fill, 1: separate noise for each pixel; key
  tensor_saturation,    // value[0]: factor
  tensor_contrast,      // value[0]: factor
  tensor_autocontrast,  //
  tensor_sharpness,     // value[0]: factor
  tensor_affine,        // value[0 .. 5]: as in affine, relative to the image's middle; value[6]: 1:
                        // blends in fill at the border, 0: black; filter, fill
  mix_begin,            // value[0]: weight of the image, which is saved for the following steps
  mix_add,              // value[0]: weight of the image, which is replaced by the saved image
  mix_end,              // replaces the image by the weighted sum
};
inline constexpr int kPixelOps = 29;
constexpr std::array<const char*, kPixelOps> words(PixelOp) {
  return {"brightness",
          "invert",
          "posterize",
          "solarize",
          "solarize add",
          "saturation",
          "hue",
          "grayscale",
          "permute",
          "contrast",
          "autocontrast",
          "equalize",
          "sharpness",
          "blur",
          "box blur",
          "jpeg",
          "affine",
          "perspective",
          "elastic",
          "noise",
          "erase",
          "tensor saturation",
          "tensor contrast",
          "tensor autocontrast",
          "tensor sharpness",
          "tensor affine",
          "mix begin",
          "mix add",
          "mix end"};
}

// Input needed to compute one pixel of the result.
enum class PixelKind : std::uint8_t {
  levels,      // the level
  colors,      // the pixel
  statistics,  // all pixels, reduced to a table of levels
  neighbors,   // pixels around it
  places,      // a pixel elsewhere
  noise,       // the pixel and its place
  tensors,     // like torchvision's tensor kernels; the other kinds follow Pillow
  mix,         // the image at mix_begin, and the sum since then
};

TUNDISH_HOST_DEVICE PixelKind kind_of(PixelOp op) {
  if (op <= PixelOp::solarize_add) return PixelKind::levels;
  if (op <= PixelOp::permute_channels) return PixelKind::colors;
  if (op <= PixelOp::equalize) return PixelKind::statistics;
  if (op <= PixelOp::jpeg) return PixelKind::neighbors;
  if (op <= PixelOp::elastic) return PixelKind::places;
  if (op <= PixelOp::erase) return PixelKind::noise;
  return op <= PixelOp::tensor_affine ? PixelKind::tensors : PixelKind::mix;
}

struct PixelStep {
  PixelOp op;
  Filter filter = Filter::nearest;
  std::array<std::uint8_t, 3> fill{};  // color where there is no source pixel
  Size size{};                         // size of the result; {0, 0}: unchanged
  Window window{};
  std::array<double, 8> value{};
  std::uint64_t key = 0;  // key of the random numbers of each pixel
  bool operator==(const PixelStep&) const = default;
};

// Returns how many entries of value[] an operation uses.
TUNDISH_HOST_DEVICE int values_of(PixelOp op) {
  constexpr int kValues[kPixelOps] = {1, 0, 1, 1, 2, 1, 1, 0, 3, 1, 0, 0, 1, 6, 1,
                                      1, 6, 8, 7, 3, 1, 1, 1, 0, 1, 7, 1, 1, 0};
  return kValues[static_cast<int>(op)];
}

// Whether mirroring may run before the operation instead of after it.
TUNDISH_HOST_DEVICE bool allows_mirror_before(PixelOp op) {
  return kind_of(op) <= PixelKind::statistics;
}

}  // namespace tundish
