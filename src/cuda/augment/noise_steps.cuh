// Noise, and erasing windows.
#pragma once

#include "augment/pixels/noise/noise_ops.h"
#include "cuda/augment/image_block.cuh"

namespace tundish::cuda {

TUNDISH_STEP void add_noise(BlockImage& image, const PixelStep& step, const float* normal) {
  // The table is read at random positions, which is faster in shared memory.
  static_assert(kMinSpace >= sizeof(float) * (kNormalParts + 1));
  float* const table = reinterpret_cast<float*>(block_space);
  for (int i = first_index(); i <= kNormalParts; i += kBlockThreads) table[i] = normal[i];
  __syncthreads();
  const NoiseScale scale = noise_scale(step);
  const bool clip = step.value[2] != 0.0;
  const std::uint64_t key = step.key;
  change_pixels(image, [=](std::uint32_t pixel, int number) {
    const std::uint64_t bits = pixel_bits(key, static_cast<std::uint64_t>(number));
    std::uint32_t out = 0;
#pragma unroll
    for (int c = 0; c < 3; ++c) {
      const int shift = noise_shift(scale, normal_number(table, channel_bits(bits, c)));
      const auto level = static_cast<std::uint8_t>(pixel >> (8 * c));
      out |= std::uint32_t{noisy_level(level, shift, clip)} << (8 * c);
    }
    return out;
  });
}

TUNDISH_STEP void erase_levels(BlockImage& image, const PixelStep& given, const float* normal) {
  const PixelStep step = given;  // in registers
  apply_table(image);
  const Window w = step.window;
  std::uint8_t* const rgb = image.rgb;
  const int width = image.size.width;
  for (int i = first_index(); i < w.width * w.height; i += kBlockThreads) {
    const int y = i / w.width, x = i - y * w.width;
    const std::uint64_t bits = pixel_bits(step.key, static_cast<std::uint64_t>(i));
    std::uint8_t* pixel = rgb + std::ptrdiff_t{3} * ((w.y + y) * width + w.x + x);
    for (int c = 0; c < 3; ++c) {
      pixel[c] = step.value[0] == 0.0 ? step.fill[static_cast<std::size_t>(c)]
                                      : normal_level(normal_number(normal, channel_bits(bits, c)));
    }
  }
  __syncthreads();
}

}  // namespace tundish::cuda
