// Operations on the colour of each pixel by itself, and the greys of an image.
#pragma once

#include <cstddef>
#include <cstdint>

#include "augment/pixels/pixel_step.h"
#include "core/machine/cpu.h"

namespace tundish {

// The step is of PixelKind::colours.
void change_colours(std::uint8_t* rgb, std::size_t pixels, const PixelStep& step, Cpu cpu);

// Of Pillow's mode L.
std::uint64_t sum_of_greys(const std::uint8_t* rgb, std::size_t pixels, Cpu cpu);

// The same, by one instruction set each (colour_lanes.h).
void change_colours_avx2(std::uint8_t* rgb, std::size_t pixels, const PixelStep& step);
void change_colours_avx512(std::uint8_t* rgb, std::size_t pixels, const PixelStep& step);
std::uint64_t sum_of_greys_avx2(const std::uint8_t* rgb, std::size_t pixels);
std::uint64_t sum_of_greys_avx512(const std::uint8_t* rgb, std::size_t pixels);

}  // namespace tundish
