#include "codec/lanes/expand.h"

#include <bit>

#include "codec/lanes/block_finder.h"
#include "codec/lanes/mask_rank.h"

namespace tundish::lanes {

void expand_blocks_baseline(Block* to, std::ptrdiff_t step, const UnitValues& values, int from,
                            int count) {
  for (int b = from; b < from + count; ++b, to += step) {
    to->fill(0);
    (*to)[0] = values.dc[b];
    const std::int8_t* value = values.value + values.start[b];
    for (std::uint64_t left = values.mask[b]; left != 0; left &= left - 1) {
      (*to)[kZigzag[std::countr_zero(left)]] = *value++;
    }
  }
}

void put_escapes_baseline(Block* const* at, const UnitValues& values) {
  const BlockFinder finder(values);
  for (int i = 0; i < values.escapes; ++i) {
    const auto [position, value] = values.escape[i];
    const int block = finder.find(position);
    const std::uint64_t mask = values.mask[block];
    const int zigzag = place_of_rank(mask, counts_below(mask), position - values.start[block]);
    (*at[block])[kZigzag[zigzag]] = value;
  }
}

Expand expand_of(Cpu cpu) {
  if (cpu == Cpu::avx512) return {expand_blocks_avx512, put_escapes_avx512};
  return {cpu == Cpu::avx2 ? expand_blocks_avx2 : expand_blocks_baseline, put_escapes_baseline};
}

void expand_unit(Coefficients& out, const UnitValues& values, int unit_x, int unit_y,
                 const Expand& expand) {
  Block* at[kMaxBlocks];  // address of each block of the unit in the image
  int b = 0;
  for (int c = 0; c < out.geometry.components; ++c) {
    const BlockRect rect = blocks_of(out.geometry, unit_x, unit_y, c);
    const int across = out.geometry.component[c].blocks_x;
    for (int y = rect.y0; y < rect.y1; ++y, b += rect.width()) {
      const bool forward = (y - rect.y0) % 2 == 0;
      const int first = forward ? rect.x0 : rect.x1 - 1;
      const std::ptrdiff_t step = forward ? 1 : -1;
      Block* to = out.blocks[c].data() + std::ptrdiff_t{y} * across + first;
      expand.blocks(to, step, values, b, rect.width());
      for (int i = 0; i < rect.width(); ++i) at[b + i] = to + step * i;
    }
  }
  expand.escapes(at, values);
}

}  // namespace tundish::lanes
