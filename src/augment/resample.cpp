#include "augment/resample.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace tundish {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

void grow(std::vector<std::uint8_t>& buffer, std::size_t bytes) {
  if (buffer.size() < bytes) buffer.resize(bytes);
}

std::uint8_t clip8(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::clamp(sum >> kWeightBits, 0, 255));
}

constexpr std::int32_t kHalf = 1 << (kWeightBits - 1);

void pass_x(std::uint8_t* out, const std::uint8_t* row, const Taps& taps) {
  const std::int32_t* weight = taps.weight.data();
  for (int i = 0; i < taps.outputs(); ++i, weight += taps.count, out += 3) {
    const std::uint8_t* pixel = row + 3 * at(taps.first[at(i)]);
    std::int32_t red = kHalf, green = kHalf, blue = kHalf;
    for (int k = 0; k < taps.used[at(i)]; ++k, pixel += 3) {
      red += weight[k] * pixel[0];
      green += weight[k] * pixel[1];
      blue += weight[k] * pixel[2];
    }
    out[0] = clip8(red);
    out[1] = clip8(green);
    out[2] = clip8(blue);
  }
}

// The place of the needed part of one axis in the input, {0, 0} when it is all padding.
struct Range {
  int from, length;
};

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

}  // namespace

void Resample::begin(const Stage& stage, Size image, RowSink& out) {
  assert(stage.keep.width > 0 && stage.keep.height > 0);
  stage_ = stage;
  image_ = image;
  out_ = &out;
  const Window& crop = stage.crop;
  const Window& keep = stage.keep;

  // A mirrored result costs nothing here: the outputs of a row are computed in that order.
  const int keep_x = stage.backwards_x ? stage.size.width - keep.x - keep.width : keep.x;
  make_taps(taps_x_, crop.width, stage.size.width, keep_x, keep.width, stage.filter);
  if (stage.backwards_x) mirror_inputs(taps_x_, crop.width);
  if (stage.backwards_x != (stage.mirror_x && resizes(stage))) mirror_outputs(taps_x_);

  const int keep_y = stage.backwards_y ? stage.size.height - keep.y - keep.height : keep.y;
  make_taps(taps_y_, crop.height, stage.size.height, keep_y, keep.height, stage.filter);
  if (stage.backwards_y) {
    mirror_inputs(taps_y_, crop.height);
    mirror_outputs(taps_y_);
  }

  find_needed();
  for (int& first : taps_x_.first) first -= x_from_;
  for (int& first : taps_y_.first) first -= y_from_;
  next_input_ = needed_.y;
  next_row_ = 0;
  next_output_ = 0;

  const std::size_t cropped_bytes = at(x_to_ - x_from_) * 3;
  const std::size_t kept_bytes = at(keep.width) * 3;
  if (padded_x_) grow(padded_, cropped_bytes);
  if (padded_y_) {
    grow(held_, at(needed_.height) * at(needed_.width) * 3);
    grow(fill_, cropped_bytes);
    for (std::size_t i = 0; i < cropped_bytes; ++i) fill_[i] = stage.fill[i % 3];
  }
  if (resizes(stage)) {
    ring_rows_ = taps_y_.count;
    grow(ring_, at(ring_rows_) * kept_bytes);
    grow(result_, kept_bytes);
    sums_.resize(kept_bytes);
  }
}

void Resample::find_needed() {
  x_from_ = std::min(taps_x_.first.front(), taps_x_.first.back());
  x_to_ = std::max(taps_x_.first.front() + taps_x_.used.front(),
                   taps_x_.first.back() + taps_x_.used.back());
  y_from_ = taps_y_.first.front();
  y_to_ = taps_y_.first.back() + taps_y_.used.back();

  const Window& crop = stage_.crop;
  padded_x_ = crop.x + x_from_ < 0 || crop.x + x_to_ > image_.width;
  padded_y_ = crop.y + y_from_ < 0 || crop.y + y_to_ > image_.height;
  const Range x = needed_range(crop.x + x_from_, crop.x + x_to_, image_.width, stage_.pad_mode);
  const Range y = needed_range(crop.y + y_from_, crop.y + y_to_, image_.height, stage_.pad_mode);
  needed_ = {x.from, y.from, x.length, y.length};
  if (x.length == 0 || y.length == 0) {
    needed_ = {};
    padded_y_ = true;  // every row is a row of padding
  }
}

void Resample::push(const Strip& strip) {
  assert(strip.x <= needed_.x && strip.x + strip.width >= needed_.x + needed_.width);
  const int last = std::min(strip.y + strip.rows, needed_.y + needed_.height);
  for (; next_input_ < last; ++next_input_) {
    assert(strip.y <= next_input_);
    input_row(strip.pixels + (next_input_ - strip.y) * strip.stride +
              3 * std::ptrdiff_t{needed_.x - strip.x});
  }
}

// Padding above may be a copy of rows below: where there is any, all rows are held to the end.
void Resample::input_row(const std::uint8_t* row) {
  if (!padded_y_) return padded_row(row);
  const std::size_t bytes = at(needed_.width) * 3;
  std::memcpy(held_.data() + at(next_input_ - needed_.y) * bytes, row, bytes);
}

void Resample::finish() {
  if (!padded_y_) return;
  const std::size_t bytes = at(needed_.width) * 3;
  for (int y = stage_.crop.y + y_from_; y < stage_.crop.y + y_to_; ++y) {
    const int index = padded_index(y, image_.height, stage_.pad_mode);
    if (index < 0 || bytes == 0) {
      cropped_row(fill_.data());
    } else {
      padded_row(held_.data() + at(index - needed_.y) * bytes);
    }
  }
}

// `row` begins at column needed_.x of the input.
void Resample::padded_row(const std::uint8_t* row) {
  if (!padded_x_) return cropped_row(row);
  const int first = stage_.crop.x + x_from_;
  const int count = x_to_ - x_from_;
  for (int i = 0; i < count;) {
    std::uint8_t* to = padded_.data() + at(i) * 3;
    const int index = padded_index(first + i, image_.width, stage_.pad_mode);
    const std::uint8_t* from = index < 0 ? stage_.fill.data() : row + at(index - needed_.x) * 3;
    const bool inside = index >= 0 && index == first + i;
    const int pixels = inside ? std::min(count - i, image_.width - index) : 1;
    std::memcpy(to, from, at(pixels) * 3);
    i += pixels;
  }
  cropped_row(padded_.data());
}

// `row` begins at column x_from_ of the crop.
void Resample::cropped_row(const std::uint8_t* row) {
  if (!resizes(stage_)) return emit(row);
  const std::size_t bytes = at(stage_.keep.width) * 3;
  pass_x(ring_.data() + at(next_row_ % ring_rows_) * bytes, row, taps_x_);
  ++next_row_;
  while (next_output_ < stage_.keep.height) {
    const int first = taps_y_.first[at(next_output_)];
    const int used = taps_y_.used[at(next_output_)];
    if (first + used > next_row_) break;
    const std::int32_t* weight = taps_y_.weight.data() + at(next_output_) * at(taps_y_.count);
    std::fill(sums_.begin(), sums_.end(), kHalf);
    for (int k = 0; k < used; ++k) {
      const std::uint8_t* line = ring_.data() + at((first + k) % ring_rows_) * bytes;
      for (std::size_t i = 0; i < bytes; ++i) sums_[i] += weight[k] * line[i];
    }
    for (std::size_t i = 0; i < bytes; ++i) result_[i] = clip8(sums_[i]);
    emit(result_.data());
  }
}

void Resample::emit(const std::uint8_t* rgb) {
  const int y = stage_.mirror_y ? stage_.keep.height - 1 - next_output_ : next_output_;
  ++next_output_;
  out_->row(y, rgb, stage_.keep.width, stage_.mirror_x && !resizes(stage_));
}

}  // namespace tundish
