#include "augment/cpu/rgba/rgba_runner.h"

#include <algorithm>

#include "augment/pixels/alpha/premultiply.h"
#include "augment/pixels/alpha/premultiply_ops.h"

namespace tundish {
namespace {

std::size_t bytes_of(Size size) {
  return std::size_t{3} * static_cast<std::size_t>(size.width) *
         static_cast<std::size_t>(size.height);
}

bool interpolates(const ResizeStep& step) {
  return resizes(step) && step.filter != Filter::nearest;
}

bool interpolates(const PixelStep& step) {
  return kind_of(step.op) == PixelKind::places && step.filter != Filter::nearest;
}

// Upper bound of the part of an image that a step reads.
Size most_needed(const ResizeStep& step, Size image) {
  return {std::min(step.crop.width, image.width), std::min(step.crop.height, image.height)};
}

}  // namespace

void RgbaWindow::begin(const Window& needed) {
  window = needed;
  const std::size_t bytes = bytes_of({std::max(0, needed.width), std::max(0, needed.height)});
  rgb.resize(bytes);
  alpha.resize(bytes);
}

void RgbaWindow::push(const Strip& strip) {
  const int left = std::max(strip.x, window.x);
  const int right = std::min(strip.x + strip.width, window.x + window.width);
  const int top = std::max(strip.y, window.y);
  const int bottom = std::min(strip.y + strip.rows, window.y + window.height);
  if (left >= right) return;
  for (int y = top; y < bottom; ++y) {
    const std::ptrdiff_t at =
        std::ptrdiff_t{3} * ((y - window.y) * std::ptrdiff_t{window.width} + (left - window.x));
    std::copy_n(strip.pixels + (y - strip.y) * strip.stride + std::ptrdiff_t{3} * (left - strip.x),
                3 * (right - left), rgb.data() + at);
    std::uint8_t* to = alpha.data() + at;
    if (!strip.alpha) {
      std::fill_n(to, 3 * (right - left), std::uint8_t{255});
      continue;
    }
    const std::uint8_t* from = strip.alpha + (y - strip.y) * strip.alpha_stride + (left - strip.x);
    for (int x = left; x < right; ++x, to += 3) to[0] = to[1] = to[2] = *from++;
  }
}

void RgbaRunner::begin(const View& view, const PixelTable& table, const Placement& place) {
  view_ = &view;
  table_ = &table;
  place_ = place;
  premultiplied_ = false;
  resample_.begin(view.first(), view.image(), keep_);
  image_.begin(resample_.needed());
}

void RgbaRunner::finish() {
  Size size = view_->image();
  Window from = image_.window;
  for (const PlanStep& one : view_->steps()) {
    if (const ResizeStep* step = std::get_if<ResizeStep>(&one)) {
      run(*step, from, size);
      size = {step->keep.width, step->keep.height};
    } else {
      size = run(std::get<PixelStep>(one), size);
    }
    from = {0, 0, size.width, size.height};
  }
  store(size);
}

// `from` is the window in memory of an image of `input` pixels.
void RgbaRunner::run(const ResizeStep& step, const Window& from, Size input) {
  ResizeStep colors = step;
  const bool between = interpolates(step);
  if (between && !premultiplied_) {
    multiply_by_alpha(image_.rgb, image_.alpha);
    // Padding is premultiplied like the image. Its alpha equals step.fill[0].
    for (std::uint8_t& level : colors.fill) level = multiplied(level, step.fill[0]);
  }
  resize(image_.rgb, colors, from, input);
  resize(image_.alpha, step, from, input);
  premultiplied_ = step.resize_continues;
  if (between && !premultiplied_) divide_by_alpha(image_.rgb, image_.alpha);
}

void RgbaRunner::resize(std::vector<std::uint8_t>& image, const ResizeStep& step,
                        const Window& from, Size input) {
  keep_.begin(result_, {step.keep.width, step.keep.height});
  resample_.begin(step, input, keep_);
  if (from.width > 0 && from.height > 0) {
    resample_.push(
        {image.data(), std::ptrdiff_t{3} * from.width, from.x, from.y, from.width, from.height});
  }
  resample_.finish();
  image.swap(result_);
}

// Pillow fills after premultiplying the colors, so the fill is not multiplied.
Size RgbaRunner::run(const PixelStep& step, Size size) {
  const PlanStep one = step;
  if (interpolates(step)) multiply_by_alpha(image_.rgb, image_.alpha);
  pixels_.run({&one, 1}, image_.rgb, size);
  const Size made = pixels_.run({&one, 1}, image_.alpha, size);
  if (interpolates(step)) divide_by_alpha(image_.rgb, image_.alpha);
  return made;
}

void RgbaRunner::store(Size size) {
  const auto put = [&](const std::vector<std::uint8_t>& image, const PixelTable& table,
                       const Placement& place) {
    store_.begin(table, place, view_->erasures());
    for (int y = 0; y < size.height; ++y) {
      store_.row(y, image.data() + std::ptrdiff_t{3} * y * size.width, size.width, false);
    }
  };
  Placement place = place_;
  place.channels = 3;
  put(image_.rgb, *table_, place);
  place.base += 3 * place.dc;
  place.channels = 1;
  put(image_.alpha, *table_->alpha, place);
}

std::uint64_t RgbaRunner::bytes(const View& view) {
  std::uint64_t most = 0, most_more = 0;
  Size size = view.image();
  bool first = true;
  for (const PlanStep& one : view.steps()) {
    Size made, needed = size;
    std::uint64_t more = 0;
    if (const ResizeStep* step = std::get_if<ResizeStep>(&one)) {
      made = {step->keep.width, step->keep.height};
      if (first) needed = most_needed(*step, size);
    } else {
      const PixelStep& pixels = std::get<PixelStep>(one);
      made = pixels.size == Size{} ? size : pixels.size;
      more = PixelRunner::bytes(pixels, size);
    }
    most = std::max<std::uint64_t>({most, bytes_of(needed), bytes_of(made)});
    most_more = std::max(most_more, more);
    size = made;
    first = false;
  }
  return 4 * most + most_more;  // colors, alpha, and the result of each step for both
}

}  // namespace tundish
