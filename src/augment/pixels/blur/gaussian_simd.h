// GaussianRows on registers of kBytes, in the order of gaussian_sum(). Included by one file per
// instruction set.
#pragma once

#include "augment/pixels/blur/blur_rows.h"

namespace tundish {
namespace {

template <int kBytes>
struct GaussianLanes {
  typedef float Floats __attribute__((vector_size(kBytes)));
  typedef std::uint32_t Words __attribute__((vector_size(kBytes)));
  static constexpr int kLanes = kBytes / 4;
  static constexpr int kTogether = kBlurBlock / kLanes < 4 ? kBlurBlock / kLanes : 4;

  static inline __attribute__((always_inline)) Floats load(const float* from) {
    Floats out;
    __builtin_memcpy(&out, from, sizeof out);
    return out;
  }

  // Computes kTogether sums at once because each addition depends on the previous one.
  template <class Read>
  static inline __attribute__((always_inline)) void sum(Floats* sums, const float* weight,
                                                        int reach, const Read& read) {
    for (int k = 0; k < kTogether; ++k) sums[k] = weight[0] * load(read(0) + k * kLanes);
    for (int d = 1; d <= reach; ++d) {
      const float* before = read(-d);
      const float* after = read(d);
      const float factor = weight[d];
      for (int k = 0; k < kTogether; ++k) {
        sums[k] += factor * (load(before + k * kLanes) + load(after + k * kLanes));
      }
    }
  }

  static void widen(float* to, const std::uint8_t* from, int count) {
    for (int i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]);
  }
  static void narrow(std::uint8_t* to, const std::uint32_t* from, int count) {
    for (int i = 0; i < count; ++i) to[i] = static_cast<std::uint8_t>(from[i]);
  }

  static void across(float* to, const float* line, int count, const float* weight, int reach,
                     int step) {
    for (int i = 0; i < count; i += kTogether * kLanes) {
      Floats sums[kTogether];
      sum(sums, weight, reach, [&](int d) { return line + i + step * d; });
      __builtin_memcpy(to + i, sums, sizeof sums);
    }
  }

  static void down_sums(float* to, const float* const* around, int count, const float* weight,
                        int reach) {
    for (int i = 0; i < count; i += kTogether * kLanes) {
      Floats sums[kTogether];
      sum(sums, weight, reach, [&](int d) { return around[d] + i; });
      __builtin_memcpy(to + i, sums, sizeof sums);
    }
  }

  static void down(std::uint32_t* to, const float* const* around, int count, const float* weight,
                   int reach) {
    for (int i = 0; i < count; i += kTogether * kLanes) {
      Floats sums[kTogether];
      sum(sums, weight, reach, [&](int d) { return around[d] + i; });
      for (int k = 0; k < kTogether; ++k) {
        const Floats rounded = sums[k] + kRoundingFloat;
        Words bits;
        __builtin_memcpy(&bits, &rounded, sizeof bits);
        bits &= 0xff;  // the low bits of the float are the integer
        __builtin_memcpy(to + i + k * kLanes, &bits, sizeof bits);
      }
    }
  }
};

template <int kBytes>
constexpr GaussianRows kGaussianLanes = {
    GaussianLanes<kBytes>::widen, GaussianLanes<kBytes>::narrow, GaussianLanes<kBytes>::across,
    GaussianLanes<kBytes>::down, GaussianLanes<kBytes>::down_sums};

}  // namespace
}  // namespace tundish
