#include "augment/taps.h"

#include <algorithm>
#include <cmath>

namespace tundish {
namespace {

constexpr std::int32_t kOne = 1 << kWeightBits;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

void one_tap_each(Taps& taps, int keep) {
  taps.count = 1;
  taps.used.assign(at(keep), 1);
  taps.weight.assign(at(keep), kOne);
}

// Pillow adds the scale once per output instead of multiplying; so do we, from the first one.
void make_nearest(Taps& taps, int in, int out, int keep_from, int keep) {
  one_tap_each(taps, keep);
  const double scale = static_cast<double>(in) / out;
  double place = scale * 0.5;
  for (int i = 0; i < keep_from; ++i) place += scale;
  for (int i = 0; i < keep; ++i) {
    taps.first[at(i)] = std::min(static_cast<int>(place), in - 1);
    place += scale;
  }
}

}  // namespace

double filter_support(Filter filter) { return filter == Filter::bicubic ? 2.0 : 1.0; }

double filter_value(Filter filter, double x) {
  if (x < 0.0) x = -x;
  if (filter == Filter::bilinear) return x < 1.0 ? 1.0 - x : 0.0;
  constexpr double a = -0.5;
  if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
  if (x < 2.0) return (((x - 5.0) * x + 8.0) * x - 4.0) * a;
  return 0.0;
}

void make_taps(Taps& taps, int in, int out, int keep_from, int keep, Filter filter) {
  taps.first.resize(at(keep));
  if (in == out) {
    one_tap_each(taps, keep);
    for (int i = 0; i < keep; ++i) taps.first[at(i)] = keep_from + i;
    return;
  }
  if (filter == Filter::nearest) return make_nearest(taps, in, out, keep_from, keep);

  const double scale = static_cast<double>(in) / out;
  const double filter_scale = std::max(scale, 1.0);
  const double support = filter_support(filter) * filter_scale;
  const double inverse = 1.0 / filter_scale;

  taps.used.resize(at(keep));
  taps.count = 0;
  for (int i = 0; i < keep; ++i) {
    const double center = (keep_from + i + 0.5) * scale;
    const int from = std::max(static_cast<int>(center - support + 0.5), 0);
    const int to = std::min(static_cast<int>(center + support + 0.5), in);
    taps.first[at(i)] = from;
    taps.used[at(i)] = to - from;
    taps.count = std::max(taps.count, to - from);
  }

  taps.weight.assign(at(keep) * at(taps.count), 0);
  taps.value.resize(at(taps.count));
  for (int i = 0; i < keep; ++i) {
    const double center = (keep_from + i + 0.5) * scale;
    const int from = taps.first[at(i)];
    const int used = taps.used[at(i)];
    double sum = 0.0;
    for (int k = 0; k < used; ++k) {
      const double value = filter_value(filter, (k + from - center + 0.5) * inverse);
      taps.value[at(k)] = value;
      sum += value;
    }
    std::int32_t* weight = taps.weight.data() + at(i) * at(taps.count);
    for (int k = 0; k < used; ++k) {
      const double share = sum != 0.0 ? taps.value[at(k)] / sum : taps.value[at(k)];
      weight[k] = static_cast<std::int32_t>((share < 0 ? -0.5 : 0.5) + share * kOne);
    }
  }
}

void mirror_inputs(Taps& taps, int in) {
  for (int i = 0; i < taps.outputs(); ++i) {
    const int used = taps.used[at(i)];
    std::int32_t* weight = taps.weight.data() + at(i) * at(taps.count);
    taps.first[at(i)] = in - taps.first[at(i)] - used;
    std::reverse(weight, weight + used);
  }
}

void mirror_outputs(Taps& taps) {
  std::reverse(taps.first.begin(), taps.first.end());
  std::reverse(taps.used.begin(), taps.used.end());
  for (int low = 0, high = taps.outputs() - 1; low < high; ++low, --high) {
    std::int32_t* weight = taps.weight.data();
    std::swap_ranges(weight + at(low) * at(taps.count), weight + at(low + 1) * at(taps.count),
                     weight + at(high) * at(taps.count));
  }
}

}  // namespace tundish
