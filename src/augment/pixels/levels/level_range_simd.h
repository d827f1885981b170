// level_range() with registers of kLanes bytes. Included by one file per instruction set.
#pragma once

#include <cstring>

#include "augment/pixels/levels/level_range.h"

namespace tundish {
namespace {

// Three registers hold a whole number of pixels.
template <std::size_t kLanes>
std::size_t range_of(LevelRange& range, const std::uint8_t* rgb, std::size_t bytes) {
  typedef std::uint8_t Levels __attribute__((vector_size(kLanes)));
  if (bytes < 3 * kLanes) return 0;
  Levels low[3], high[3];
  std::memcpy(low, rgb, sizeof low);
  std::memcpy(high, rgb, sizeof high);
  std::size_t i = 3 * kLanes;
  for (; i + 3 * kLanes <= bytes; i += 3 * kLanes) {
    for (std::size_t k = 0; k < 3; ++k) {
      Levels levels;
      std::memcpy(&levels, rgb + i + k * kLanes, kLanes);
      low[k] = levels < low[k] ? levels : low[k];
      high[k] = levels > high[k] ? levels : high[k];
    }
  }
  std::uint8_t lows[3 * kLanes], highs[3 * kLanes];
  std::memcpy(lows, low, sizeof lows);
  std::memcpy(highs, high, sizeof highs);
  for (std::size_t k = 0; k < 3 * kLanes; ++k) {
    if (lows[k] < range.low[k % 3]) range.low[k % 3] = lows[k];
    if (highs[k] > range.high[k % 3]) range.high[k % 3] = highs[k];
  }
  return i;
}

}  // namespace
}  // namespace tundish
