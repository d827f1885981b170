#include "augment/pixels/levels/level_range_simd.h"

namespace tundish {

std::size_t level_range_avx512(LevelRange& range, const std::uint8_t* rgb, std::size_t bytes) {
  return range_of<64>(range, rgb, bytes);
}

}  // namespace tundish
