#include "codec/lanes/block_lists.h"

#include "codec/lanes/block_finder.h"

namespace tundish::lanes {
void sort_blocks(BlockLists& out, const UnitTask& task) {
  mark_escapes<BlockFinder>(out, *task.unit);
  BlockPair* end[4] = {out.flat.pair, out.low.pair, out.full.pair, out.general.pair};
  for (int c = 0; c < task.components; ++c) {
    const ComponentTask& part = task.component[c];
    const int wide = part.quantization->wide ? 3 : 0;
    for (int y = part.y0; y < part.y1; ++y) {
      const int step = y % 2 == 0 ? 1 : -1;  // from a block to its right neighbor
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
