// Operations on the color of each pixel by itself, and the grays of an image.
#pragma once

#include <cstddef>
#include <cstdint>

#include "augment/pixels/pixel_step.h"
#include "base/machine/cpu.h"

namespace tundish {

// The step is of PixelKind::colors.
void change_colors(std::uint8_t* rgb, std::size_t pixels, const PixelStep& step, Cpu cpu);

// Of Pillow's mode L.
std::uint64_t sum_of_grays(const std::uint8_t* rgb, std::size_t pixels, Cpu cpu);

// The same, by one instruction set each (color_lanes.h).
void change_colors_avx2(std::uint8_t* rgb, std::size_t pixels, const PixelStep& step);
void change_colors_avx512(std::uint8_t* rgb, std::size_t pixels, const PixelStep& step);
std::uint64_t sum_of_grays_avx2(const std::uint8_t* rgb, std::size_t pixels);
std::uint64_t sum_of_grays_avx512(const std::uint8_t* rgb, std::size_t pixels);

}  // namespace tundish
