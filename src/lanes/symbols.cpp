#include "lanes/symbols.h"

#include <bit>
#include <cstdlib>

namespace tundish::lanes {
namespace {

int size_of(int difference) {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(std::abs(difference))));
}

bool add_block(UnitSymbols& out, BlockSymbols& symbols, const Block& block, int& last_dc) {
  const int difference = block[0] - last_dc;
  last_dc = block[0];
  if (std::abs(difference) > kMaxDcDifference) return false;
  const int size = size_of(difference);
  symbols.dc_size = static_cast<std::uint8_t>(size);
  symbols.dc_bits =
      static_cast<std::uint16_t>(difference < 0 ? difference + (1 << size) - 1 : difference);

  symbols.first = static_cast<std::uint16_t>(out.values);
  std::uint64_t mask = 0;
  std::int16_t* value = out.value + out.values;
  for (int z = 1; z < 64; ++z) {
    const std::int16_t coefficient = block[kZigzag[z]];
    *value = coefficient;
    value += coefficient != 0;
    mask |= std::uint64_t{coefficient != 0} << z;
  }
  symbols.mask = mask;
  symbols.count = static_cast<std::uint8_t>(std::popcount(mask));
  symbols.octets = static_cast<std::uint8_t>((std::bit_width(mask) + 7) / 8);
  bool in_range = true;
  for (const std::int16_t* v = out.value + out.values; v < value; ++v) {
    in_range &= std::abs(*v) <= kMaxAc;
  }
  out.values += symbols.count;
  return in_range;
}

}  // namespace

UnitShape shape_of(const Geometry& geometry, int unit_x, int unit_y) {
  UnitShape shape = {};
  int end = 0;
  for (int c = 0; c < kMaxComponents; ++c) {
    if (c < geometry.components) end += blocks_of(geometry, unit_x, unit_y, c).count();
    shape.end[c] = end;
  }
  return shape;
}

bool find_symbols(UnitSymbols& out, const Coefficients& image, int unit_x, int unit_y) {
  out.shape = shape_of(image.geometry, unit_x, unit_y);
  out.values = 0;
  int place = 0;
  bool in_range = true;
  for (int c = 0; c < image.geometry.components; ++c) {
    const BlockRect rect = blocks_of(image.geometry, unit_x, unit_y, c);
    const Block* blocks = image.blocks[c].data();
    const int stride = image.geometry.component[c].blocks_x;
    int last_dc = 0;
    for (int y = rect.y0; y < rect.y1; ++y) {
      const bool forward = (y - rect.y0) % 2 == 0;
      for (int i = 0; i < rect.width(); ++i) {
        const int x = forward ? rect.x0 + i : rect.x1 - 1 - i;
        const auto at = static_cast<std::size_t>(y) * static_cast<std::size_t>(stride) +
                        static_cast<std::size_t>(x);
        in_range &= add_block(out, out.block[place++], blocks[at], last_dc);
      }
    }
  }
  return in_range;
}

}  // namespace tundish::lanes
