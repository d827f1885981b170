// One output of a resize axis: its inputs and their weights. Shared by CPU and GPU.
#pragma once

#include <cstdint>

#include "augment/filter.h"
#include "cuda/decode/batch_layout.h"

namespace tundish::cuda {

// The inputs of one output along an axis, and their weights, from left to right.
struct AxisOutput {
  const AxisTask& axis;
  ResizedLine line;
  bool single;  // only one input, with weight 1
  int i, begin, used;
  double sum = 0.0;

  TUNDISH_HOST_DEVICE AxisOutput(const AxisTask& axis, Filter filter, int place)
      : axis(axis), line(axis.in, axis.out, filter) {
    i = axis.from + (axis.reversed ? axis.keep - 1 - place : place);
    single = axis.in == axis.out || filter == Filter::nearest;
    begin = axis.in == axis.out ? i : single ? nearest_input(axis.in, axis.out, i) : line.first(i);
    used = 1;
    if (!single) {
      const int end = line.end(i);
      used = end - begin < axis.taps ? end - begin : axis.taps;  // never more than axis.taps
      for (int k = 0; k < used; ++k) sum += line.value(i, k);
    }
  }

  TUNDISH_HOST_DEVICE int first() const { return axis.backwards ? axis.in - begin - used : begin; }
  TUNDISH_HOST_DEVICE std::int32_t weight(int tap) const {
    if (tap >= used) return 0;
    if (single) return 1 << kWeightBits;
    return rounded_weight(line.value(i, axis.backwards ? used - 1 - tap : tap), sum);
  }
};

}  // namespace tundish::cuda
