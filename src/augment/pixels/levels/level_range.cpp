#include "augment/pixels/levels/level_range.h"

#include <algorithm>

namespace tundish {

LevelRange level_range(const std::uint8_t* rgb, std::size_t pixels, Cpu cpu) {
  LevelRange range;
  std::size_t i = 0;
  if (cpu == Cpu::avx512) i = level_range_avx512(range, rgb, 3 * pixels);
  if (cpu == Cpu::avx2) i = level_range_avx2(range, rgb, 3 * pixels);
  for (; i < 3 * pixels; i += 3) {
    for (std::size_t c = 0; c < 3; ++c) {
      range.low[c] = std::min(range.low[c], rgb[i + c]);
      range.high[c] = std::max(range.high[c], rgb[i + c]);
    }
  }
  return range;
}

}  // namespace tundish
