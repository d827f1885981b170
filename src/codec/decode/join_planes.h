// Joins planes of 8-bit levels to rows of RGB. A gray row passes one plane three times.
#pragma once

#include <cstdint>

#include "base/machine/cpu.h"

namespace tundish {

// Writes red[x], green[x], blue[x] to pixel x.
void join_planes(std::uint8_t* rgb, const std::uint8_t* red, const std::uint8_t* green,
                 const std::uint8_t* blue, int width, Cpu cpu = tundish::cpu());

// Uses SSE4.2 for 16 pixels at a time. Returns the pixels done; the caller does the rest.
int join_planes_sse(std::uint8_t* rgb, const std::uint8_t* red, const std::uint8_t* green,
                    const std::uint8_t* blue, int width);

}  // namespace tundish
