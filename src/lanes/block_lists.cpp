#include "lanes/block_lists.h"

#include <emmintrin.h>

namespace tundish::lanes {
namespace {

// Two bits for each of eight numbers that is above the bound; all are below 2^15.
unsigned above(const std::uint16_t* numbers, __m128i bound) {
  const __m128i eight = _mm_loadu_si128(reinterpret_cast<const __m128i*>(numbers));
  return static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpgt_epi16(eight, bound)));
}

// Finds the block that holds a value, the last that starts at or before it: first among every
// eighth, then among eight. No branch depends on the data.
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
    // start[blocks] is above: what stands behind it does not count.
    const unsigned fine = above(unit_.start + first, bound) | 1u << 16;
    return first + __builtin_ctz(fine) / 2 - 1;
  }

 private:
  static constexpr int kEighths = kMaxBlocks / 8;
  static constexpr std::uint16_t kEnd = 32767;
  const UnitValues& unit_;
  std::uint16_t eighth_[kEighths];
};

}  // namespace

void mark_escapes(BlockLists& out, const UnitValues& unit) {
  out.marked = unit.mask;
  if (unit.escapes == 0) return;
  for (int b = 0; b < unit.blocks; ++b) out.marked_memory[b] = unit.mask[b];
  const BlockFinder finder(unit);
  for (int i = 0; i < unit.escapes; ++i) {
    const int block = finder.find(unit.escape[i].position);
    out.marked_memory[block] |= 1;
    out.escape[block] = static_cast<std::uint16_t>(i);
  }
  out.marked = out.marked_memory;
}

void sort_blocks(BlockLists& out, const UnitTask& task) {
  mark_escapes(out, *task.unit);
  BlockPair* end[4] = {out.flat.pair, out.low.pair, out.full.pair, out.general.pair};
  for (int c = 0; c < task.components; ++c) {
    const ComponentTask& part = task.component[c];
    const int wide = part.quantisation->wide ? 3 : 0;
    for (int y = part.y0; y < part.y1; ++y) {
      const int step = y % 2 == 0 ? 1 : -1;  // from a block to its neighbour on the right
      const int leftmost = part.first + y * part.across + (y % 2 == 0 ? 0 : part.across - 1);
      auto offset = static_cast<std::int32_t>((y - part.y0) * kBlock * part.stride);
      for (int x = part.x0; x < part.x1; x += 2, offset += 2 * kBlock) {
        const int left = leftmost + step * x;
        const int right = x + 1 < part.x1 ? left + step : left;
        const std::uint64_t either = out.marked[left] | out.marked[right];
        const int any = (either & ~std::uint64_t{1}) != 0;
        const int high = (either & ~(kLowMask | 1)) != 0;
        const int escaped = static_cast<int>(either & 1) * 3;
        *end[(any + high) | any * wide | escaped]++ = {static_cast<std::uint8_t>(left),
                                                       static_cast<std::uint8_t>(right),
                                                       static_cast<std::uint16_t>(c), offset};
      }
    }
  }
  out.flat.count = static_cast<int>(end[0] - out.flat.pair);
  out.low.count = static_cast<int>(end[1] - out.low.pair);
  out.full.count = static_cast<int>(end[2] - out.full.pair);
  out.general.count = static_cast<int>(end[3] - out.general.pair);
}

}  // namespace tundish::lanes
