// Describes how one image of a batch is mixed, in the kernels' form.
#pragma once

#include <cstdint>

#include "augment/mix.h"
#include "cuda/augment/target.h"

namespace tundish::cuda {

// Number of an image: among the images that the CPU decoded (possibly with kMirrored) or, with
// kDecoded, among the images that the GPU decoded.
using ImageRef = std::uint32_t;
inline constexpr ImageRef kDecoded = ImageRef{1} << 30;
constexpr std::uint32_t number_of(ImageRef image) { return image & ~(kMirrored | kDecoded); }

struct GpuMix {
  ImageRef own = 0, partner = 0;
  Mix::Kind kind = Mix::Kind::none;
  float share = 1, rest = 0;
  Window box;
  std::int64_t label = 0, partner_label = 0;
};

}  // namespace tundish::cuda
