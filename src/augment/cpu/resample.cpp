#include "augment/cpu/resample.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace tundish {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

TapsView view_of(const Taps& taps) {
  return {taps.outputs(), taps.count, taps.first.data(), taps.used.data(), taps.weight.data()};
}

}  // namespace

void Resample::begin(const ResizeStep& step, Size image, RowSink& out) {
  assert(step.keep.width > 0 && step.keep.height > 0);
  step_ = step;
  image_ = image;
  out_ = &out;
  const Window& crop = step.crop;
  const Window& keep = step.keep;

  // A mirrored result costs nothing here: the outputs of a row are computed in reverse order.
  const int keep_x = step.backwards_x ? step.size.width - keep.x - keep.width : keep.x;
  make_taps(taps_x_, crop.width, step.size.width, keep_x, keep.width, step.filter, cpu_);
  if (step.backwards_x) mirror_inputs(taps_x_, crop.width);
  if (step.backwards_x != (step.mirror_x && resizes(step))) mirror_outputs(taps_x_);

  const int keep_y = step.backwards_y ? step.size.height - keep.y - keep.height : keep.y;
  make_taps(taps_y_, crop.height, step.size.height, keep_y, keep.height, step.filter, cpu_);
  if (step.backwards_y) {
    mirror_inputs(taps_y_, crop.height);
    mirror_outputs(taps_y_);
  }

  find_needed();
  for (int& first : taps_x_.first) first -= x_from_;
  for (int& first : taps_y_.first) first -= y_from_;
  next_input_ = needed_.y;
  next_row_ = 0;
  next_output_ = 0;

  rows_ = 0;
  row_bytes_ = at(x_to_ - x_from_) * 3;
  row_reach_ = row_bytes_;
  if (resizes(step)) make_tables();
  if (padded_x_ || resizes(step)) staged_.take(at(passes_.rows) * row_reach_);
  if (padded_y_) {
    held_.take(at(needed_.height) * at(needed_.width) * 3);
    std::uint8_t* fill = fill_.take(row_reach_);
    for (std::size_t i = 0; i < row_bytes_; ++i) fill[i] = step.fill[i % 3];
  }
}

void Resample::make_tables() {
  const TapsView x = view_of(taps_x_), y = view_of(taps_y_);
  passes_.make_table_x(table_x_.take(passes_.table_x_bytes(x)), x);
  passes_.make_table_y(table_y_.take(passes_.table_y_bytes(y)), y);

  // Each output reads `count` inputs from its first one; inputs past its last one have weight 0.
  row_reach_ += 3 * at(x.count) + passes_.row_slack;
  // An output needs at most `count` consecutive rows, so slots with older rows may be overwritten.
  // The ring holds at least as many slots as `count` rows can span.
  slots_ = 1;
  while (slots_ < (y.count + passes_.rows - 2) / passes_.rows + 1) slots_ *= 2;
  slot_bytes_ = slot_bytes(passes_, step_.keep.width);
  ring_ = slot_memory_.take(at(slots_) * slot_bytes_);
  result_.take(at(step_.keep.width) * 3 + kWrittenBehind);
}

void Resample::find_needed() {
  x_from_ = std::min(taps_x_.first.front(), taps_x_.first.back());
  x_to_ = std::max(taps_x_.first.front() + taps_x_.used.front(),
                   taps_x_.first.back() + taps_x_.used.back());
  y_from_ = taps_y_.first.front();
  y_to_ = taps_y_.first.back() + taps_y_.used.back();

  const Window& crop = step_.crop;
  padded_x_ = crop.x + x_from_ < 0 || crop.x + x_to_ > image_.width;
  padded_y_ = crop.y + y_from_ < 0 || crop.y + y_to_ > image_.height;
  const Range x = needed_range(crop.x + x_from_, crop.x + x_to_, image_.width, step_.pad_mode);
  const Range y = needed_range(crop.y + y_from_, crop.y + y_to_, image_.height, step_.pad_mode);
  needed_ = {x.from, y.from, x.length, y.length};
  if (x.length == 0 || y.length == 0) {
    needed_ = {};
    padded_y_ = true;  // every row is padding
  }
}

void Resample::push(const Strip& strip) {
  assert(strip.x <= needed_.x && strip.x + strip.width >= needed_.x + needed_.width);
  const std::uint8_t* end =
      strip.pixels + (strip.rows - 1) * strip.stride + 3 * std::ptrdiff_t{strip.width};
  const int last = std::min(strip.y + strip.rows, needed_.y + needed_.height);
  for (; next_input_ < last; ++next_input_) {
    assert(strip.y <= next_input_);
    input_row(strip.pixels + (next_input_ - strip.y) * strip.stride +
                  3 * std::ptrdiff_t{needed_.x - strip.x},
              end);
  }
  // The caller's strip memory is valid only during this call, so unprocessed rows are copied.
  for (int i = 0; i < rows_; ++i) {
    if (row_[i] == staged(i)) continue;
    std::memcpy(staged(i), row_[i], row_bytes_);
    row_[i] = staged(i);
  }
}

// Padding above may copy rows below, so any vertical padding holds all rows until the end.
void Resample::input_row(const std::uint8_t* row, const std::uint8_t* end) {
  if (!padded_y_) return padded_row(row, end);
  const std::size_t bytes = at(needed_.width) * 3;
  std::memcpy(held_.data() + at(next_input_ - needed_.y) * bytes, row, bytes);
}

void Resample::finish() {
  if (!padded_y_) return;
  const std::size_t bytes = at(needed_.width) * 3;
  const std::uint8_t* end = held_.data() + at(needed_.height) * bytes;
  for (int y = step_.crop.y + y_from_; y < step_.crop.y + y_to_; ++y) {
    const int index = padded_index(y, image_.height, step_.pad_mode);
    if (index < 0 || bytes == 0) {
      cropped_row(fill_.data(), fill_.data() + row_reach_);
    } else {
      padded_row(held_.data() + at(index - needed_.y) * bytes, end);
    }
  }
}

// `row` starts at column needed_.x of the input; memory is readable up to `end`.
void Resample::padded_row(const std::uint8_t* row, const std::uint8_t* end) {
  if (!padded_x_) return cropped_row(row, end);
  const int first = step_.crop.x + x_from_;
  const int count = x_to_ - x_from_;
  for (int i = 0; i < count;) {
    std::uint8_t* to = staged(rows_) + at(i) * 3;
    const int index = padded_index(first + i, image_.width, step_.pad_mode);
    const std::uint8_t* from = index < 0 ? step_.fill.data() : row + at(index - needed_.x) * 3;
    const bool inside = index >= 0 && index == first + i;
    const int pixels = inside ? std::min(count - i, image_.width - index) : 1;
    std::memcpy(to, from, at(pixels) * 3);
    i += pixels;
  }
  cropped_row(staged(rows_), staged(rows_) + row_reach_);
}

// `row` starts at column x_from_ of the crop.
void Resample::cropped_row(const std::uint8_t* row, const std::uint8_t* end) {
  if (!resizes(step_)) return emit(row);
  if (end - row < static_cast<std::ptrdiff_t>(row_reach_)) {
    std::memcpy(staged(rows_), row, row_bytes_);
    row = staged(rows_);
  }
  row_[rows_++] = row;
  const bool last = next_row_ + rows_ == y_to_ - y_from_;
  if (rows_ == passes_.rows || last) pass_rows();
}

std::uint8_t* Resample::staged(int i) { return staged_.data() + at(i) * row_reach_; }

// Runs the horizontal pass on the waiting rows, then computes every output that is now complete.
void Resample::pass_rows() {
  for (int i = rows_; i < passes_.rows; ++i) row_[i] = row_[0];  // their weights are 0
  const int slot = next_row_ / passes_.rows & (slots_ - 1);
  passes_.pass_x(ring_ + at(slot) * slot_bytes_, row_, table_x_.data());
  next_row_ += rows_;
  rows_ = 0;
  const SlotRing ring{ring_, slot_bytes_, slots_};
  while (next_output_ < step_.keep.height) {
    const auto i = at(next_output_);
    if (taps_y_.first[i] + taps_y_.used[i] > next_row_) break;
    std::uint8_t* const place = place_of_next();
    std::uint8_t* const to = place ? place : result_.data();
    passes_.pass_y(to, ring, table_y_.data(), next_output_, 3 * step_.keep.width);
    if (place) {
      ++next_output_;
    } else {
      emit(to);
    }
  }
}

// Returns where the next output can be written without a copy; nullptr if the bytes written past
// the row would not be overwritten later: near the last row, or when mirrored vertically.
std::uint8_t* Resample::place_of_next() {
  const int rows_below = step_.keep.height - 1 - next_output_;
  if (step_.mirror_y || rows_below * std::int64_t{3} * step_.keep.width < kWrittenBehind) {
    return nullptr;
  }
  return out_->place_of(next_output_, step_.keep.width);
}

void Resample::emit(const std::uint8_t* rgb) {
  const int y = step_.mirror_y ? step_.keep.height - 1 - next_output_ : next_output_;
  ++next_output_;
  out_->row(y, rgb, step_.keep.width, step_.mirror_x && !resizes(step_));
}

}  // namespace tundish
