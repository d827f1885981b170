#include "loader/memory/sample_bytes.h"

#include <algorithm>

#include "augment/cpu/resample.h"
#include "augment/cpu/rgba/rgba_runner.h"
#include "augment/pixels/levels/resize_16.h"
#include "augment/pixels/pixel_runner.h"

namespace tundish {
namespace {

std::uint64_t rgb_bytes(Size size) {
  return std::uint64_t{3} * static_cast<std::uint64_t>(size.width) *
         static_cast<std::uint64_t>(size.height);
}

// Bytes of an image and its alpha.
std::uint64_t pixel_bytes(Size size, bool has_alpha) {
  return rgb_bytes(size) + (has_alpha ? rgb_bytes(size) / 3 : 0);
}

}  // namespace

void SampleBytes::grow_to(const SampleBytes& other) {
  coded = std::max(coded, other.coded);
  decoder = std::max(decoder, other.decoder);
  upright = std::max(upright, other.upright);
  shared = std::max(shared, other.shared);
  between = std::max(between, other.between);
  resample = std::max(resample, other.resample);
}

namespace {

SampleBytes of_one(const View& view, const ImageHeader& header, std::uint8_t orientation,
                   std::uint64_t coded, bool whole) {
  const Size stored{static_cast<int>(header.width), static_cast<int>(header.height)};
  SampleBytes out{.coded = coded};
  // Upper bound: the crop, or the whole image if it is rotated or padded.
  Window window{0, 0, stored.width, stored.height};
  if (orientation == 1 && !whole) window.width = std::min(view.first().crop.width, stored.width);
  out.decoder = decode_bytes(header, window);
  const bool has_alpha = view.mode() == ImageMode::rgba;
  if (orientation != 1) out.upright = pixel_bytes(stored, has_alpha);
  if (has_alpha) out.between = RgbaRunner::bytes(view);
  Size size = view.image();
  Size before;
  for (std::size_t i = 0; i < view.steps().size(); ++i) {
    const ResizeStep* step = std::get_if<ResizeStep>(&view.steps()[i]);
    if (!step) {  // an image, and the image made from it
      const PixelStep& pixels = std::get<PixelStep>(view.steps()[i]);
      const Size kept = pixels.size == Size{} ? size : pixels.size;
      out.between = std::max(out.between,
                             rgb_bytes(size) + rgb_bytes(kept) + PixelRunner::bytes(pixels, size));
      before = size = kept;
      continue;
    }
    out.resample = std::max(out.resample, Resample::bytes(*step, size));
    if (view.mode() == ImageMode::i16 && computes_levels(*step)) {
      const Size crop{step->crop.width, step->crop.height};
      const Size made{step->keep.width, step->keep.height};
      out.resample = std::max(out.resample, Resample::bytes(crop_of(*step), size));
      out.between = std::max(out.between, rgb_bytes(before) + rgb_bytes(crop) + rgb_bytes(made) +
                                              resize_16_bytes(*step));
    }
    const Size kept{step->keep.width, step->keep.height};
    const bool last = i + 1 == view.steps().size();
    out.between = std::max(out.between, rgb_bytes(before) + (last ? 0 : rgb_bytes(kept)));
    before = kept;
    size = kept;
  }
  return out;
}

}  // namespace

SampleBytes sample_bytes(std::span<const View> views, const ImageHeader& header,
                         std::uint8_t orientation, std::uint64_t coded, bool whole) {
  // The region shared by several images may be the whole image.
  const bool shared = views.size() > 1;
  SampleBytes out;
  for (const View& view : views) {
    out.grow_to(of_one(view, header, orientation, coded, whole || shared));
  }
  if (shared) {
    const bool has_alpha = views.front().mode() == ImageMode::rgba;
    out.shared = pixel_bytes(views.front().image(), has_alpha);
  }
  return out;
}

}  // namespace tundish
