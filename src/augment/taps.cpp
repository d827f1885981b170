#include "augment/taps.h"

#include <algorithm>

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

void make_taps(Taps& taps, int in, int out, int keep_from, int keep, Filter filter) {
  taps.first.resize(at(keep));
  if (in == out) {
    one_tap_each(taps, keep);
    for (int i = 0; i < keep; ++i) taps.first[at(i)] = keep_from + i;
    return;
  }
  if (filter == Filter::nearest) return make_nearest(taps, in, out, keep_from, keep);

  const ResizedLine line(in, out, filter);
  taps.used.resize(at(keep));
  taps.count = 0;
  for (int i = 0; i < keep; ++i) {
    taps.first[at(i)] = line.first(keep_from + i);
    taps.used[at(i)] = line.end(keep_from + i) - taps.first[at(i)];
    taps.count = std::max(taps.count, taps.used[at(i)]);
  }

  taps.weight.assign(at(keep) * at(taps.count), 0);
  taps.value.resize(at(taps.count));
  for (int i = 0; i < keep; ++i) {
    const int used = taps.used[at(i)];
    double sum = 0.0;
    for (int k = 0; k < used; ++k) {
      taps.value[at(k)] = line.value(keep_from + i, k);
      sum += taps.value[at(k)];
    }
    std::int32_t* weight = taps.weight.data() + at(i) * at(taps.count);
    for (int k = 0; k < used; ++k) weight[k] = rounded_weight(taps.value[at(k)], sum);
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
