#include "augment/plan.h"

#include <algorithm>
#include <cassert>

namespace tundish {
namespace {

ResizeStep whole(Size input) {
  const Window all{0, 0, input.width, input.height};
  return {.crop = all, .size = input, .keep = all};
}

// One axis of a window in a line of n pixels.
bool inside(int from, int length, int n) { return from >= 0 && from + length <= n; }

}  // namespace

bool resizes(const ResizeStep& step) {
  return step.size != Size{step.crop.width, step.crop.height};
}

Range needed_range(int from, int to, int n, PadMode mode) {
  if (from >= 0 && to <= n) return {from, to - from};
  int low = n, high = -1;
  for (int i = from; i < to; ++i) {
    const int index = padded_index(i, n, mode);
    if (index < 0) continue;
    low = std::min(low, index);
    high = std::max(high, index);
  }
  return high < 0 ? Range{0, 0} : Range{low, high + 1 - low};
}

View::View(Size image) : image_(image), steps_{whole(image)} {}

Size View::size() const { return {steps_.back().keep.width, steps_.back().keep.height}; }

void View::open_step() { steps_.push_back(whole(size())); }

void View::crop(const Window& window, PadMode mode, std::array<std::uint8_t, 3> fill) {
  assert(window.width > 0 && window.height > 0);
  const Size now = size();
  const bool inside_x = inside(window.x, window.width, now.width);
  const bool inside_y = inside(window.y, window.height, now.height);
  if (!inside_x || !inside_y) {
    // The padding of this crop is the padding of the step's input only where the result still
    // spans the whole input; otherwise pixels would show that were cut off before.
    const ResizeStep& last = steps_.back();
    const Size input = steps_.size() == 1 ? image_
                                          : Size{steps_[steps_.size() - 2].keep.width,
                                                 steps_[steps_.size() - 2].keep.height};
    const bool spans_x = last.crop.x == 0 && last.crop.width == input.width;
    const bool spans_y = last.crop.y == 0 && last.crop.height == input.height;
    const bool padded = !inside(last.crop.x, last.crop.width, input.width) ||
                        !inside(last.crop.y, last.crop.height, input.height);
    if (resizes(last) || padded || !(inside_x || spans_x) || !(inside_y || spans_y)) open_step();
  }

  // Mirroring comes last in a step, so the window moves to the other side of the mirror.
  ResizeStep& step = steps_.back();
  const int x = step.mirror_x ? size().width - window.x - window.width : window.x;
  const int y = step.mirror_y ? size().height - window.y - window.height : window.y;
  if (!inside_x || !inside_y) {
    step.pad_mode = mode;
    step.fill = fill;
  }
  if (resizes(step)) {
    step.keep = {step.keep.x + x, step.keep.y + y, window.width, window.height};
  } else {
    step.crop = {step.crop.x + x, step.crop.y + y, window.width, window.height};
    step.size = {window.width, window.height};
    step.keep = {0, 0, window.width, window.height};
  }
}

void View::resize(Size size, Filter filter) {
  assert(size.width > 0 && size.height > 0);
  const Size now = this->size();
  if (size == now) return;
  // Pillow 12's Image.resize() makes images of this shape flatter before it makes them wider or
  // narrower, the other way round than all others.
  if (now.height > std::int64_t{100} * now.width && size.height < now.height &&
      size.width != now.width) {
    resize({now.width, size.height}, filter);
  }
  if (resizes(steps_.back())) open_step();
  ResizeStep& step = steps_.back();
  step.size = size;
  step.filter = filter;
  step.keep = {0, 0, size.width, size.height};
  step.backwards_x = step.mirror_x;
  step.backwards_y = step.mirror_y;
}

void View::mirror_x() { steps_.back().mirror_x = !steps_.back().mirror_x; }

void View::mirror_y() { steps_.back().mirror_y = !steps_.back().mirror_y; }

}  // namespace tundish
