#include "augment/pixels/noise/noise.h"

#include <algorithm>

#include "augment/pixels/noise/noise_ops.h"

namespace tundish {

void add_noise(const PixelStep& step, std::vector<std::uint8_t>& rgb, Cpu cpu) {
  const NoiseScale scale = noise_scale(step);
  const auto add = cpu == Cpu::avx512 ? add_noise_avx512
                   : cpu == Cpu::avx2 ? add_noise_avx2
                                      : add_noise_baseline;
  add({.rgb = rgb.data(),
       .pixels = rgb.size() / 3,
       .key = step.key,
       .table = normal_table(),
       .mean = scale.mean,
       .sigma = scale.sigma,
       .clip = step.value[2] != 0.0});
}

void erase_window(const PixelStep& step, std::vector<std::uint8_t>& rgb, Size size) {
  const Window& w = step.window;
  const auto stride = std::ptrdiff_t{3} * size.width;
  std::uint8_t* first = rgb.data() + w.y * stride + std::ptrdiff_t{3} * w.x;
  const float* table = normal_table();
  std::uint64_t number = 0;  // index of a pixel in the window
  for (std::uint8_t* row = first; row != first + w.height * stride; row += stride) {
    if (step.value[0] == 0.0 && row != first) {
      std::copy_n(first, 3 * w.width, row);
      continue;
    }
    for (int x = 0; x < w.width; ++x, ++number) {
      const std::uint64_t bits = pixel_bits(step.key, number);
      for (int c = 0; c < 3; ++c) {
        row[3 * x + c] = step.value[0] == 0.0
                             ? step.fill[static_cast<std::size_t>(c)]
                             : normal_level(normal_number(table, channel_bits(bits, c)));
      }
    }
  }
}

void noise_reference(const PixelStep& step, std::vector<std::uint8_t>& rgb, Size size) {
  const float* table = normal_table();
  const Window& w = step.window;
  const bool erases = step.op == PixelOp::erase;
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      const int inside_x = x - w.x, inside_y = y - w.y;
      const bool inside =
          inside_x >= 0 && inside_x < w.width && inside_y >= 0 && inside_y < w.height;
      if (erases && !inside) continue;
      const auto number =
          static_cast<std::uint64_t>(erases ? inside_y * w.width + inside_x : y * size.width + x);
      for (std::size_t c = 0; c < 3; ++c) {
        const auto place = static_cast<std::size_t>(y * size.width + x) * 3 + c;
        const float normal =
            normal_number(table, channel_bits(pixel_bits(step.key, number), static_cast<int>(c)));
        if (!erases) {
          rgb[place] =
              noisy_level(rgb[place], noise_shift(noise_scale(step), normal), step.value[2] != 0.0);
        } else {
          rgb[place] = step.value[0] == 0.0 ? step.fill[c] : normal_level(normal);
        }
      }
    }
  }
}

}  // namespace tundish
