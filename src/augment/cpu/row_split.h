// Mirrors rows of 8-bit RGB, or splits them into planes. The *_sse versions need SSE4.2. Uses plain
// pointers only, for the reason given in augment/cpu/passes.h.
#pragma once

#include <cstdint>

namespace tundish {

// Writes the pixels of `rgb` in reverse order. The two buffers must not overlap.
void mirror_row(std::uint8_t* to, const std::uint8_t* rgb, int width);
void mirror_row_sse(std::uint8_t* to, const std::uint8_t* rgb, int width);

// Writes pixel x to red[x], green[x], blue[x].
void split_row(std::uint8_t* red, std::uint8_t* green, std::uint8_t* blue, const std::uint8_t* rgb,
               int width);
void split_row_sse(std::uint8_t* red, std::uint8_t* green, std::uint8_t* blue,
                   const std::uint8_t* rgb, int width);

}  // namespace tundish
