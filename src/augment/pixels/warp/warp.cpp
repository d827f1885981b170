#include "augment/pixels/warp/warp.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "augment/pixels/warp/warp_rows.h"
#include "augment/plan.h"

namespace tundish {
namespace {

// A shift by whole pixels: every filter copies the pixels.
bool moves_whole_pixels(const PixelStep& step) {
  const auto& a = step.value;
  const auto whole = [](double value) {
    return std::floor(value) == value && std::abs(value) < 1e9;
  };
  return step.op == PixelOp::affine && a[0] == 1 && a[1] == 0 && a[3] == 0 && a[4] == 1 &&
         whole(a[2]) && whole(a[5]);
}

// Counts the i >= 0 with from + step * i < limit; step > 0. Corrects an estimate, because integer
// division is slow and a row needs four counts.
std::int64_t count_below(std::int64_t from, std::int64_t step, double inverse, std::int64_t limit) {
  if (from >= limit) return 0;
  auto count = static_cast<std::int64_t>(static_cast<double>(limit - from) * inverse);
  while (count > 0 && from + step * (count - 1) >= limit) --count;
  while (from + step * count < limit) ++count;
  return count;
}

// A coordinate along a row: pixel i is inside the image if 0 <= from + step * i < limit.
struct Line {
  std::int64_t step, limit;
  double inverse;  // 1 / |step|

  Line(std::int64_t step, int pixels)
      : step(step),
        limit(std::int64_t{pixels} << 16),
        inverse(step == 0 ? 0 : 1.0 / static_cast<double>(std::abs(step))) {}

  void cut(Range& range, std::int64_t from) const {
    const std::int64_t end = range.from + range.length;
    std::int64_t first = range.from, last = end;  // last is exclusive
    if (step == 0) {
      if (from < 0 || from >= limit) last = first;
    } else if (step > 0) {
      first = std::max(first, count_below(from, step, inverse, 0));
      last = std::min(last, count_below(from, step, inverse, limit));
    } else {
      first = std::max(first, count_below(-from, -step, inverse, 1 - limit));
      last = std::min(last, count_below(-from, -step, inverse, 1));
    }
    first = std::min(first, end);
    range = {static_cast<int>(first), static_cast<int>(std::max(last, first) - first)};
  }
};

bool wraps(std::int64_t from, std::int64_t step, int n) {
  const std::int64_t last = from + step * n;
  return last < INT32_MIN || last > INT32_MAX;
}

// Fills the pixels of a row that are not in `range`.
void fill_around(const WarpRows& rows, int y, const Range& range) {
  const auto before = static_cast<std::size_t>(3 * range.from);
  const auto end = static_cast<std::size_t>(3 * (range.from + range.length));
  std::memcpy(rows.row(y), rows.fill, before);
  std::memcpy(rows.row(y) + end, rows.fill, 3 * rows.stride() - end);
}

void copy_pixels(std::uint8_t* to, const std::uint8_t* from, const std::int32_t* offsets, int n) {
  for (int i = 0; i < n; ++i) copy_pixel(to + 3 * i, from + offsets[i]);
}

}  // namespace

void Warp::run(const PixelStep& given, std::vector<std::uint8_t>& rgb, Size& size, Cpu cpu) {
  PixelStep step = given;
  if (moves_whole_pixels(step)) step.filter = Filter::nearest;
  const Size result = step.size == Size{} ? size : step.size;
  const auto width = static_cast<std::size_t>(result.width);
  result_.resize(3 * width * static_cast<std::size_t>(result.height));
  fill_.resize(3 * width);
  for (std::size_t i = 0; i < fill_.size(); ++i) fill_[i] = step.fill[i % 3];
  const Pixels image{rgb.data(), size.width, size.height};
  const WarpRows rows{step, step.value.data(), image, result_.data(), result, fill_.data()};
  if (rgb.size() > std::size_t{INT32_MAX}) cpu = Cpu::scalar;  // offsets have 32 bits

  if (step.op == PixelOp::affine && step.filter == Filter::nearest) {
    offsets_.resize(width + 16);
    const NearestWay way = nearest_affine(step, result).way;
    if (way == NearestWay::scaled) scaled_rows(rows, cpu);
    if (way == NearestWay::fixed) fixed_rows(rows, cpu);
    if (way == NearestWay::wide) wide_rows_baseline(rows);
  } else {
    const auto sample_row = cpu == Cpu::avx512 ? sample_row_avx512
                            : cpu == Cpu::avx2 ? sample_row_avx2
                                               : sample_row_baseline;
    for (int y = 0; y < result.height; ++y) sample_row(rows, y);
  }
  rgb.swap(result_);
  size = result;
}

void Warp::fixed_rows(const WarpRows& rows, Cpu cpu) {
  const NearestAffine affine = nearest_affine(rows.step, rows.size);
  const Pixels& image = rows.image;
  const int width = rows.size.width;
  const auto x_across = static_cast<std::int32_t>(affine.x_across);
  const auto y_across = static_cast<std::int32_t>(affine.y_across);
  const Line across(x_across, image.width), down(y_across, image.height);
  for (int y = 0; y < rows.size.height; ++y) {
    const std::int64_t x = fixed_x(affine, 0, y), y_place = fixed_y(affine, 0, y);
    if (wraps(x, x_across, width) || wraps(y_place, y_across, width)) {
      wrapping_row_baseline(rows, affine, y);
      continue;
    }
    Range range{0, width};
    across.cut(range, x);
    down.cut(range, y_place);
    fill_around(rows, y, range);
    if (range.length == 0) continue;
    const int last = range.from + range.length - 1;
    const FixedRow row{fixed_x(affine, range.from, y), fixed_y(affine, range.from, y), x_across,
                       y_across};
    const int right = std::max(row.x, fixed_x(affine, last, y)) >> 16;
    const int bottom = std::max(row.y, fixed_y(affine, last, y)) >> 16;
    // Four bytes are read per pixel, which is too many for the last pixel of the image.
    const bool has_last = right == image.width - 1 && bottom == image.height - 1;
    std::uint8_t* const to = rows.row(y) + 3 * range.from;
    if (cpu < Cpu::avx2 || has_last) {
      fixed_row_baseline(to, image, row, range.length);
    } else if (cpu == Cpu::avx2) {
      fixed_row_avx2(to, image, row, range.length, offsets_.data());
    } else {
      fixed_row_avx512(to, image, row, range.length, offsets_.data());
    }
  }
}

void Warp::scaled_rows(const WarpRows& rows, Cpu cpu) {
  const NearestAffine affine = nearest_affine(rows.step, rows.size);
  const Pixels& image = rows.image;
  Range range{0, 0};
  bool adjacent = true;
  double place = affine.wide_x;
  for (int x = 0; x < rows.size.width; ++x, place += affine.across[0]) {
    if (!(place >= 0.0 && place < image.width)) continue;
    const int n = range.length++;
    if (n == 0) range.from = x;
    offsets_[static_cast<std::size_t>(n)] = 3 * static_cast<int>(place);
    adjacent &= offsets_[static_cast<std::size_t>(n)] == offsets_[0] + 3 * n;
  }
  place = affine.wide_y;
  for (int y = 0; y < rows.size.height; ++y, place += affine.down[1]) {
    const bool inside = place >= 0.0 && place < image.height && range.length > 0;
    fill_around(rows, y, inside ? range : Range{0, 0});
    if (!inside) continue;
    const int row = static_cast<int>(place);
    const std::uint8_t* const from = image.at(0, row);
    std::uint8_t* const to = rows.row(y) + 3 * range.from;
    if (adjacent) {
      std::memcpy(to, from + offsets_[0], static_cast<std::size_t>(3 * range.length));
    } else if (cpu < Cpu::avx2 || row == image.height - 1) {
      copy_pixels(to, from, offsets_.data(), range.length);
    } else {
      copy_pixels_avx2(to, from, offsets_.data(), range.length);
    }
  }
}

}  // namespace tundish
