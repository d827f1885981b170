// Reference implementation of Resample: Pillow's resize, one output at a time.
#include <cmath>

#include "augment/cpu/resample.h"

namespace tundish {
namespace {

std::uint8_t clip8(std::int64_t sum) {
  const std::int64_t level = sum >> kWeightBits;
  return static_cast<std::uint8_t>(level < 0 ? 0 : level > 255 ? 255 : level);
}

// Computes output i of a line of `in` samples, `step` bytes apart, resized to `out` samples.
std::uint8_t sample_reference(const std::uint8_t* line, std::size_t step, int in, int out, int i,
                              Filter filter) {
  const double scale = static_cast<double>(in) / out;
  if (filter == Filter::nearest) {
    double place = scale * 0.5;
    for (int k = 0; k < i; ++k) place += scale;
    return line[static_cast<std::size_t>(place) * step];
  }
  const double filter_scale = scale < 1.0 ? 1.0 : scale;
  const double support = filter_support(filter) * filter_scale;
  const double center = (i + 0.5) * scale;
  int from = static_cast<int>(center - support + 0.5);
  if (from < 0) from = 0;
  int to = static_cast<int>(center + support + 0.5);
  if (to > in) to = in;

  const auto weight = [&](int k) {
    return filter_value(filter, (k - center + 0.5) * (1.0 / filter_scale));
  };
  double total = 0.0;
  for (int k = from; k < to; ++k) total += weight(k);
  std::int64_t sum = std::int64_t{1} << (kWeightBits - 1);
  for (int k = from; k < to; ++k) {
    const double share = weight(k) / total * (1 << kWeightBits);
    sum += static_cast<std::int64_t>(std::trunc(share < 0 ? share - 0.5 : share + 0.5)) *
           line[static_cast<std::size_t>(k) * step];
  }
  return clip8(sum);
}

}  // namespace

void resample_reference(std::vector<std::uint8_t>& out, std::span<const std::uint8_t> rgb, Size in,
                        Size size, Filter filter) {
  const auto in_width = static_cast<std::size_t>(in.width);
  const auto width = static_cast<std::size_t>(size.width);
  const auto height = static_cast<std::size_t>(size.height);

  std::vector<std::uint8_t> wide(rgb.begin(), rgb.end());
  if (size.width != in.width) {
    wide.resize(static_cast<std::size_t>(in.height) * width * 3);
    for (std::size_t i = 0; i < wide.size(); ++i) {
      const std::size_t y = i / (3 * width), x = i / 3 % width, c = i % 3;
      wide[i] = sample_reference(rgb.data() + y * in_width * 3 + c, 3, in.width, size.width,
                                 static_cast<int>(x), filter);
    }
  }
  out = wide;
  if (size.height == in.height) return;
  out.resize(height * width * 3);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t y = i / (3 * width), column = i % (3 * width);
    out[i] = sample_reference(wide.data() + column, 3 * width, in.height, size.height,
                              static_cast<int>(y), filter);
  }
}

}  // namespace tundish
