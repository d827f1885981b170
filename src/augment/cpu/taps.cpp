#include "augment/cpu/taps.h"

#include <algorithm>

#include "augment/cpu/weights.h"

namespace tundish {
namespace {

constexpr std::int32_t kOne = 1 << kWeightBits;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

void one_tap_each(Taps& taps, int keep) {
  taps.count = 1;
  taps.used.assign(at(keep), 1);
  taps.weight.assign(at(keep), kOne);
}

// Pillow adds the scale once per output instead of multiplying, starting at the first output.
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

void make_taps(Taps& taps, int in, int out, int keep_from, int keep, Filter filter, Cpu cpu) {
  taps.first.resize(at(keep));
  if (in == out) {
    one_tap_each(taps, keep);
    for (int i = 0; i < keep; ++i) taps.first[at(i)] = keep_from + i;
    return;
  }
  if (filter == Filter::nearest) return make_nearest(taps, in, out, keep_from, keep);

  const ResizedLine line(in, out, filter);
  taps.used.resize(at(keep));
  int* first = taps.first.data();
  int* used = taps.used.data();
  int count = 0;
  for (int i = 0; i < keep; ++i) {
    first[i] = line.first(keep_from + i);
    used[i] = line.end(keep_from + i) - first[i];
    count = std::max(count, used[i]);
  }
  taps.count = count;

  taps.weight.resize(at(keep) * at(count));
  taps.value.resize(at(kOutputsTogether) * at(count));
  make_weights_of(cpu)(taps.weight.data(), line,
                       {.from = keep_from,
                        .outputs = keep,
                        .count = count,
                        .first = first,
                        .used = used,
                        .work = taps.value.data()});
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
