// Rows of 8-bit RGB: mirrored, or split into planes. The fast ones need SSE4.2; plain pointers
// only, as in augment/cpu/passes.h.
#pragma once

#include <cstdint>

namespace tundish {

// The pixels of `rgb` in reverse order. The two must not overlap.
void mirror_row(std::uint8_t* to, const std::uint8_t* rgb, int width);
void mirror_row_sse(std::uint8_t* to, const std::uint8_t* rgb, int width);

// Pixel x to red[x], green[x], blue[x].
void split_row(std::uint8_t* red, std::uint8_t* green, std::uint8_t* blue, const std::uint8_t* rgb,
               int width);
void split_row_sse(std::uint8_t* red, std::uint8_t* green, std::uint8_t* blue,
                   const std::uint8_t* rgb, int width);

}  // namespace tundish
