// The lowest and the highest level of each channel.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/machine/cpu.h"

namespace tundish {

struct LevelRange {
  std::uint8_t low[3] = {255, 255, 255};
  std::uint8_t high[3] = {0, 0, 0};
};

LevelRange level_range(const std::uint8_t* rgb, std::size_t pixels, Cpu cpu);

// Processes as many bytes as fill whole registers; returns their number (level_range_simd.h).
std::size_t level_range_avx2(LevelRange& range, const std::uint8_t* rgb, std::size_t bytes);
std::size_t level_range_avx512(LevelRange& range, const std::uint8_t* rgb, std::size_t bytes);

}  // namespace tundish
