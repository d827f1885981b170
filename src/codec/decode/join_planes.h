// Planes of 8-bit levels joined to rows of RGB. A gray row is one plane three times.
#pragma once

#include <cstdint>

#include "base/machine/cpu.h"

namespace tundish {

// red[x], green[x], blue[x] to pixel x.
void join_planes(std::uint8_t* rgb, const std::uint8_t* red, const std::uint8_t* green,
                 const std::uint8_t* blue, int width, Cpu cpu = tundish::cpu());

// With SSE4.2, 16 pixels at a time: gives how many it did. The rest is the caller's.
int join_planes_sse(std::uint8_t* rgb, const std::uint8_t* red, const std::uint8_t* green,
                    const std::uint8_t* blue, int width);

}  // namespace tundish
