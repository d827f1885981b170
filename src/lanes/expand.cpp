#include "lanes/expand.h"

#include <bit>

namespace tundish::lanes {
namespace {

// The place in the block of the value number `rank` of a mask.
std::size_t place_of_value(std::uint64_t mask, int rank) {
  for (; rank > 0; --rank) mask &= mask - 1;
  return kZigzag[std::countr_zero(mask)];
}

}  // namespace

void expand_blocks_plainly(Block* to, std::ptrdiff_t step, const UnitValues& values, int from,
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

ExpandBlocks expand_blocks_of(Cpu cpu) {
  return cpu == Cpu::avx512 ? expand_blocks_avx512
         : cpu == Cpu::avx2 ? expand_blocks_avx2
                            : expand_blocks_plainly;
}

void expand_unit(Coefficients& out, const UnitValues& values, int unit_x, int unit_y,
                 ExpandBlocks expand) {
  const Escape* escape = values.escape;
  int b = 0;
  for (int c = 0; c < out.geometry.components; ++c) {
    const BlockRect rect = blocks_of(out.geometry, unit_x, unit_y, c);
    const int across = out.geometry.component[c].blocks_x;
    for (int y = rect.y0; y < rect.y1; ++y, b += rect.width()) {
      const bool forward = (y - rect.y0) % 2 == 0;
      const int first = forward ? rect.x0 : rect.x1 - 1;
      const std::ptrdiff_t step = forward ? 1 : -1;
      Block* to = out.blocks[c].data() + std::ptrdiff_t{y} * across + first;
      expand(to, step, values, b, rect.width());
      // Escapes come in the order of the blocks.
      for (int i = 0; escape->position < values.start[b + rect.width()]; ++escape) {
        while (values.start[b + i + 1] <= escape->position) ++i;
        const int rank = escape->position - values.start[b + i];
        to[step * i][place_of_value(values.mask[b + i], rank)] = escape->value;
      }
    }
  }
}

}  // namespace tundish::lanes
