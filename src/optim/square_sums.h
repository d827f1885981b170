// Sums of squares in 16 double lanes, identical on every instruction set. Included by one file
// per instruction set.
#pragma once

#include <cstddef>

#include "base/host_device.h"

namespace tundish::optim {
namespace {

// The square of a float is exact in double. Uses two vectors of 8, which compilers keep in
// registers of any width.
struct SquareSums {
  typedef float Floats __attribute__((vector_size(32)));
  typedef double Doubles __attribute__((vector_size(64)));

  Doubles low = {}, high = {};

  // The number of values added before must be a multiple of 16.
  TUNDISH_INLINE void add(const float* values, std::size_t count) {
    std::size_t i = 0;
    for (; i + 16 <= count; i += 16) {
      accumulate(low, values + i);
      accumulate(high, values + i + 8);
    }
    for (std::size_t lane = 0; i + lane < count; ++lane) {
      const double value = values[i + lane];
      if (lane < 8) {
        low[lane] += value * value;
      } else {
        high[lane - 8] += value * value;
      }
    }
  }

  TUNDISH_INLINE double sum() const {
    double all = 0;
    for (int lane = 0; lane < 8; ++lane) all += low[lane];
    for (int lane = 0; lane < 8; ++lane) all += high[lane];
    return all;
  }

 private:
  static TUNDISH_INLINE void accumulate(Doubles& into, const float* from) {
    Floats values;
    std::memcpy(&values, from, sizeof(values));
    const Doubles wide = __builtin_convertvector(values, Doubles);
    into += wide * wide;
  }
};

}  // namespace
}  // namespace tundish::optim
