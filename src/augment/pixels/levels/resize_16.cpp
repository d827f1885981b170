#include "augment/pixels/levels/resize_16.h"

#include <algorithm>
#include <cmath>

namespace tundish {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// The inputs of one output: `first`, then steps of `step` (1 or -1).
struct Tap {
  int first = 0, step = 1;
  std::vector<double> weight;
};

Tap tap_of(int in, int out, int i, Filter filter) {
  if (in == out) return {i, 1, {1.0}};
  const double scale = static_cast<double>(in) / out;
  const double filter_scale = std::max(scale, 1.0);
  const double support = filter_support(filter) * filter_scale;
  const double center = (i + 0.5) * scale;
  Tap tap{.first = std::max(static_cast<int>(center - support + 0.5), 0), .weight = {}};
  const int end = std::min(static_cast<int>(center + support + 0.5), in);
  double total = 0;
  for (int k = tap.first; k < end; ++k) {
    tap.weight.push_back(filter_value(filter, (k - center + 0.5) * (1.0 / filter_scale)));
    total += tap.weight.back();
  }
  for (double& weight : tap.weight) {
    if (total != 0) weight /= total;
  }
  return tap;
}

// Returns the taps of the kept outputs of a line. `backwards`: mirror, resize, mirror back.
std::vector<Tap> taps_of(int in, int out, int keep_from, int keep, bool backwards, bool mirror,
                         Filter filter) {
  std::vector<Tap> taps;
  for (int i = keep_from; i < keep_from + keep; ++i) {
    taps.push_back(tap_of(in, out, backwards ? out - 1 - i : i, filter));
    if (!backwards) continue;
    taps.back().first = in - 1 - taps.back().first;
    taps.back().step = -1;
  }
  if (mirror) std::reverse(taps.begin(), taps.end());
  return taps;
}

std::uint16_t rounded(double sum) {
  return static_cast<std::uint16_t>(std::floor(std::clamp(sum, 0.0, 65535.0) + 0.5));
}

}  // namespace

bool computes_levels(const ResizeStep& step) {
  return resizes(step) && step.filter != Filter::nearest;
}

ResizeStep crop_of(const ResizeStep& step) {
  ResizeStep out = step;
  out.size = {step.crop.width, step.crop.height};
  out.keep = {0, 0, step.crop.width, step.crop.height};
  out.backwards_x = out.backwards_y = out.mirror_x = out.mirror_y = false;
  return out;
}

void resize_16(std::vector<std::uint8_t>& out, std::span<const std::uint8_t> pixels,
               const ResizeStep& step) {
  const int in_width = step.crop.width, in_height = step.crop.height;
  const Window& keep = step.keep;
  const std::vector<Tap> across = taps_of(in_width, step.size.width, keep.x, keep.width,
                                          step.backwards_x, step.mirror_x, step.filter);
  const std::vector<Tap> down = taps_of(in_height, step.size.height, keep.y, keep.height,
                                        step.backwards_y, step.mirror_y, step.filter);
  std::vector<std::uint16_t> wide(at(keep.width) * at(in_height));
  std::vector<double> row(at(in_width));
  for (int y = 0; y < in_height; ++y) {
    const std::uint8_t* from = pixels.data() + 3 * at(y) * at(in_width);
    for (std::size_t x = 0; x < row.size(); ++x) row[x] = from[3 * x] | from[3 * x + 1] << 8;
    for (std::size_t x = 0; x < across.size(); ++x) {
      double sum = 0;
      int place = across[x].first;
      for (const double weight : across[x].weight) {
        sum += row[at(place)] * weight;
        place += across[x].step;
      }
      wide[at(y) * at(keep.width) + x] = rounded(sum);
    }
  }
  out.assign(3 * at(keep.width) * at(keep.height), 0);
  std::vector<double> sums(at(keep.width));
  for (std::size_t y = 0; y < down.size(); ++y) {
    std::fill(sums.begin(), sums.end(), 0.0);
    int place = down[y].first;
    for (const double weight : down[y].weight) {
      const std::uint16_t* from = wide.data() + at(place) * at(keep.width);
      for (std::size_t x = 0; x < sums.size(); ++x) sums[x] += from[x] * weight;
      place += down[y].step;
    }
    std::uint8_t* to = out.data() + 3 * y * at(keep.width);
    for (const double sum : sums) {
      const std::uint16_t level = rounded(sum);
      to[0] = static_cast<std::uint8_t>(level & 255);
      to[1] = static_cast<std::uint8_t>(level >> 8);
      to += 3;
    }
  }
}

std::uint64_t resize_16_bytes(const ResizeStep& step) {
  // Weights of every output, two levels per pixel between the passes, and two rows of doubles.
  const auto line = [](int in, int out, int keep) {
    const double scale = std::max(1.0, static_cast<double>(in) / out);
    return at(keep) * (sizeof(Tap) + 2 * sizeof(double) * static_cast<std::size_t>(4 * scale + 2));
  };
  return 2 * at(step.keep.width) * at(step.crop.height) +
         8 * (at(step.crop.width) + at(step.keep.width)) +
         line(step.crop.width, step.size.width, step.keep.width) +
         line(step.crop.height, step.size.height, step.keep.height);
}

}  // namespace tundish
