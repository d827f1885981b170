// Finds the block of a unit that an escape belongs to.
#pragma once

#include <emmintrin.h>

#include "codec/lanes/unit.h"

namespace tundish::lanes {

// Returns two bits for each of eight numbers, set if it is above the bound; all are below 2^15.
inline unsigned above(const std::uint16_t* numbers, __m128i bound) {
  const __m128i eight = _mm_loadu_si128(reinterpret_cast<const __m128i*>(numbers));
  return static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpgt_epi16(eight, bound)));
}

// Finds the block that holds a value: the last block that starts at or before the value. Searches
// every eighth block first, then eight blocks. No branch depends on the data.
class BlockFinder {
 public:
  explicit BlockFinder(const UnitValues& unit) : unit_(unit) {
    for (int k = 0; k < kEighths; ++k) eighth_[k] = 8 * k < unit.blocks ? unit.start[8 * k] : kEnd;
  }

  int find(int position) const {
    const __m128i bound = _mm_set1_epi16(static_cast<short>(position));
    const std::uint64_t coarse =
        above(eighth_, bound) | std::uint64_t{above(eighth_ + 8, bound)} << 16 |
        std::uint64_t{above(eighth_ + 16, bound)} << 32 | std::uint64_t{1} << 48;
    const int first = (__builtin_ctzll(coarse) / 2 - 1) * 8;
    // start[blocks] is above the bound, so later entries do not matter.
    const unsigned fine = above(unit_.start + first, bound) | 1u << 16;
    return first + __builtin_ctz(fine) / 2 - 1;
  }

 private:
  static constexpr int kEighths = kMaxBlocks / 8;
  static constexpr std::uint16_t kEnd = 32767;
  const UnitValues& unit_;
  std::uint16_t eighth_[kEighths];
};

}  // namespace tundish::lanes
