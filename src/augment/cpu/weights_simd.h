// make_weights as loops over outputs that the compiler vectorizes. Included by one file per
// instruction set, compiled with -fno-trapping-math; without this flag g++ keeps branches.
#pragma once

#include <cstddef>

#include "augment/cpu/weights.h"

namespace tundish {
namespace {

// Computes outputs begin .. begin + here - 1 of the plan. The loops always run over
// kOutputsTogether outputs so that their length is constant; results past `here` are discarded.
// Arguments are passed by value so that stores cannot alias them.
template <Filter kFilter>
void make_some(std::int32_t* weight, ResizedLine line, WeightsPlan plan, int begin, int here) {
  int first[kOutputsTogether] = {}, used[kOutputsTogether] = {};
  for (int i = 0; i < here; ++i) {
    first[i] = plan.first[begin + i];
    used[i] = plan.used[begin + i];
  }
  double center[kOutputsTogether], sum[kOutputsTogether];
  for (int i = 0; i < kOutputsTogether; ++i) {
    center[i] = line.center(plan.from + begin + i);
    sum[i] = 0.0;
  }
  for (int k = 0; k < plan.count; ++k) {
    double* value = plan.work + std::ptrdiff_t{k} * kOutputsTogether;
    for (int i = 0; i < kOutputsTogether; ++i) {
      const double found = filter_value(kFilter, line.distance(k + first[i], center[i]));
      value[i] = k < used[i] ? found : 0.0;
      sum[i] += value[i];
    }
  }
  for (int k = 0; k < plan.count; ++k) {
    const double* value = plan.work + std::ptrdiff_t{k} * kOutputsTogether;
    std::int32_t column[kOutputsTogether];
    for (int i = 0; i < kOutputsTogether; ++i) column[i] = rounded_weight(value[i], sum[i]);
    std::int32_t* to = weight + std::ptrdiff_t{begin} * plan.count + k;
    for (int i = 0; i < here; ++i) to[std::ptrdiff_t{i} * plan.count] = column[i];
  }
}

template <Filter kFilter>
void make_all(std::int32_t* weight, const ResizedLine& line, const WeightsPlan& plan) {
  int begin = 0;
  for (; begin + kOutputsTogether <= plan.outputs; begin += kOutputsTogether) {
    make_some<kFilter>(weight, line, plan, begin, kOutputsTogether);
  }
  if (begin < plan.outputs) {
    make_some<kFilter>(weight, line, plan, begin, plan.outputs - begin);
  }
}

void make_weights(std::int32_t* weight, const ResizedLine& line, const WeightsPlan& plan) {
  if (line.filter == Filter::bicubic) return make_all<Filter::bicubic>(weight, line, plan);
  make_all<Filter::bilinear>(weight, line, plan);
}

}  // namespace
}  // namespace tundish
