// PixelOp::noise and PixelOp::erase on the CPU, in place.
#pragma once

#include <cstdint>
#include <vector>

#include "augment/pixels/pixel_step.h"
#include "base/machine/cpu.h"

namespace tundish {

void add_noise(const PixelStep& step, std::vector<std::uint8_t>& rgb, Cpu cpu);
void erase_window(const PixelStep& step, std::vector<std::uint8_t>& rgb, Size size);

// Reference implementation of both.
void noise_reference(const PixelStep& step, std::vector<std::uint8_t>& rgb, Size size);

// A run of RGB pixels, and the noise added to them.
struct NoisePixels {
  std::uint8_t* rgb;
  std::uint64_t pixels, key;
  const float* table;  // normal_table()
  float mean, sigma;   // in levels
  bool clip;
};
void add_noise_baseline(const NoisePixels& noise);
void add_noise_avx2(const NoisePixels& noise);
void add_noise_avx512(const NoisePixels& noise);

}  // namespace tundish
