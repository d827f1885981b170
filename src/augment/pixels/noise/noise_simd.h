// add_noise as loops that the compiler vectorizes. Included by one file per instruction
// set.
#pragma once

#include "augment/pixels/noise/noise.h"
#include "augment/pixels/noise/noise_ops.h"

namespace tundish {
namespace {

constexpr int kTogether = 64;  // pixels

// Computes the noise of a block's channels, in byte order. Each loop has one kind of operation so
// that compilers vectorize the loop.
inline __attribute__((always_inline)) void shifts_of(std::int32_t* shift, const NoisePixels& noise,
                                                     std::uint64_t first) {
  std::uint64_t bits[kTogether];
  for (int i = 0; i < kTogether; ++i) {
    bits[i] = pixel_bits(noise.key, first + static_cast<std::uint64_t>(i));
  }
  std::uint32_t channel[3 * kTogether];
  for (int i = 0; i < kTogether; ++i) {
    for (int c = 0; c < 3; ++c) channel[3 * i + c] = channel_bits(bits[i], c);
  }
  const float* table = noise.table;
  const NoiseScale scale{noise.mean, noise.sigma};
  for (int i = 0; i < 3 * kTogether; ++i) {
    shift[i] = noise_shift(scale, normal_number(table, channel[i]));
  }
}

template <bool kClip>
inline __attribute__((always_inline)) void add_blocks(const NoisePixels& noise) {
  std::int32_t shift[3 * kTogether];
  std::uint8_t* rgb = noise.rgb;
  std::uint64_t done = 0;
  for (; done + kTogether <= noise.pixels; done += kTogether, rgb += 3 * kTogether) {
    shifts_of(shift, noise, done);
    for (int i = 0; i < 3 * kTogether; ++i) rgb[i] = noisy_level(rgb[i], shift[i], kClip);
  }
  if (done == noise.pixels) return;
  shifts_of(shift, noise, done);
  const int rest = 3 * static_cast<int>(noise.pixels - done);
  for (int i = 0; i < rest; ++i) rgb[i] = noisy_level(rgb[i], shift[i], kClip);
}

inline __attribute__((always_inline)) void add_simd(const NoisePixels& noise) {
  noise.clip ? add_blocks<true>(noise) : add_blocks<false>(noise);
}

}  // namespace
}  // namespace tundish
