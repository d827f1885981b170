// Operations on the color of single pixels, and the sum of an image's grays.
#pragma once

#include <cstddef>
#include <cstdint>

#include "augment/pixels/pixel_step.h"
#include "base/machine/cpu.h"

namespace tundish {

// Applies a step of PixelKind::colors.
void change_colors(std::uint8_t* rgb, std::size_t pixels, const PixelStep& step, Cpu cpu);

// Sums the grays of Pillow's mode L.
std::uint64_t sum_of_grays(const std::uint8_t* rgb, std::size_t pixels, Cpu cpu);

// The same functions for one instruction set each (colors_simd.h).
void change_colors_avx2(std::uint8_t* rgb, std::size_t pixels, const PixelStep& step);
void change_colors_avx512(std::uint8_t* rgb, std::size_t pixels, const PixelStep& step);
std::uint64_t sum_of_grays_avx2(const std::uint8_t* rgb, std::size_t pixels);
std::uint64_t sum_of_grays_avx512(const std::uint8_t* rgb, std::size_t pixels);

}  // namespace tundish
