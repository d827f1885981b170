#include "codec/lanes/crop_plan.h"

#include <algorithm>
#include <cassert>

namespace tundish::lanes {
namespace {

struct Span {
  int first, last;
};

// Returns the samples needed for pixels first .. last. With `smooth`, the left one of a sample's
// two pixels reads the previous sample, and the right one reads the next sample.
Span samples_of(Span pixels, int factor, bool smooth, int count) {
  Span out = {pixels.first / factor, pixels.last / factor};
  if (smooth) {
    if (pixels.first % 2 == 0) out.first = std::max(out.first - 1, 0);
    if (pixels.last % 2 == 1) out.last = std::min(out.last + 1, count - 1);
  }
  return out;
}

}  // namespace

// A narrow chroma plane is repeated in both directions: libjpeg requires more than two columns
// to interpolate, even vertically.
Upsampling upsampling_of(const Geometry& geometry) {
  const bool narrow = geometry.component[geometry.components - 1].width <= 2;
  switch (geometry.sampling) {
    case Sampling::half_wide:
      return narrow ? Upsampling::repeat : Upsampling::smooth_wide;
    case Sampling::half_both:
      return narrow ? Upsampling::repeat : Upsampling::smooth_both;
    case Sampling::half_high:
      return Upsampling::smooth_high;
    case Sampling::quarter_wide:
      return Upsampling::repeat;
    case Sampling::gray:
    case Sampling::full:
      break;
  }
  return Upsampling::none;
}

CropPlan plan_crop(const Geometry& geometry, const Window& window) {
  assert(window.x >= 0 && window.y >= 0 && window.width > 0 && window.height > 0);
  assert(window.x + window.width <= geometry.width);
  assert(window.y + window.height <= geometry.height);
  const Upsampling upsampling = upsampling_of(geometry);
  const bool both = upsampling == Upsampling::smooth_both;
  const bool wide = both || upsampling == Upsampling::smooth_wide;
  const bool high = both || upsampling == Upsampling::smooth_high;

  CropPlan plan;
  plan.window = window;
  for (int c = 0; c < geometry.components; ++c) {
    const Component& component = geometry.component[c];
    const Span x = samples_of({window.x, window.x + window.width - 1}, geometry.max_h / component.h,
                              wide && c > 0, component.width);
    const Span y = samples_of({window.y, window.y + window.height - 1},
                              geometry.max_v / component.v, high && c > 0, component.height);
    plan.blocks[c] = {x.first / kBlock, y.first / kBlock, x.last / kBlock + 1, y.last / kBlock + 1};

    // At most one unit beyond luma's units, and only for a neighbor at their edge.
    const int across = geometry.unit_width * component.h / geometry.max_h / kBlock;
    const int down = geometry.unit_height * component.v / geometry.max_v / kBlock;
    const BlockRect& blocks = plan.blocks[c];
    const int x0 = blocks.x0 / across, x1 = (blocks.x1 - 1) / across + 1;
    const int y0 = blocks.y0 / down, y1 = (blocks.y1 - 1) / down + 1;
    plan.unit_x0 = c == 0 ? x0 : std::min(plan.unit_x0, x0);
    plan.unit_y0 = c == 0 ? y0 : std::min(plan.unit_y0, y0);
    plan.unit_x1 = std::max(plan.unit_x1, x1);
    plan.unit_y1 = std::max(plan.unit_y1, y1);
  }
  return plan;
}

}  // namespace tundish::lanes
