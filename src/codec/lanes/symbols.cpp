#include "codec/lanes/symbols.h"

#include <emmintrin.h>

#include <bit>
#include <cstdlib>

namespace tundish::lanes {
namespace {

int size_of(int difference) {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(std::abs(difference))));
}

// For each row of a block and each mask of its eight coefficients: the bits in zigzag order.
struct ZigzagMasks {
  std::uint64_t of[8][256];
};
constexpr ZigzagMasks kZigzagMasks = [] {
  ZigzagMasks out = {};
  for (std::size_t z = 0; z < 64; ++z) {
    const std::size_t row = kZigzag[z] / 8, column = kZigzag[z] % 8;
    for (std::size_t mask = 0; mask < 256; ++mask) {
      if (mask >> column & 1) out.of[row][mask] |= std::uint64_t{1} << z;
    }
  }
  return out;
}();

// Returns the nonzero coefficients in zigzag order. `in_range`: all but DC are within +-kMaxAc.
// Uses SSE2, which every x86-64 has.
std::uint64_t nonzero(const Block& block, bool& in_range) {
  const auto* rows = reinterpret_cast<const __m128i*>(block.data());
  const __m128i zero = _mm_setzero_si128();
  const __m128i high = _mm_set1_epi16(kMaxAc), low = _mm_set1_epi16(-kMaxAc);
  __m128i outside = zero;
  std::uint64_t mask = 0;
  for (int r = 0; r < 8; r += 2) {
    __m128i a = _mm_loadu_si128(rows + r), b = _mm_loadu_si128(rows + r + 1);
    if (r == 0) a = _mm_insert_epi16(a, 0, 0);
    outside =
        _mm_or_si128(outside, _mm_or_si128(_mm_cmpgt_epi16(a, high), _mm_cmplt_epi16(a, low)));
    outside =
        _mm_or_si128(outside, _mm_or_si128(_mm_cmpgt_epi16(b, high), _mm_cmplt_epi16(b, low)));
    const __m128i zeros = _mm_packs_epi16(_mm_cmpeq_epi16(a, zero), _mm_cmpeq_epi16(b, zero));
    const auto both = ~static_cast<unsigned>(_mm_movemask_epi8(zeros));
    mask |= kZigzagMasks.of[r][both & 255] | kZigzagMasks.of[r + 1][both >> 8 & 255];
  }
  in_range = _mm_movemask_epi8(outside) == 0;
  return mask;
}

bool add_block(UnitSymbols& out, BlockSymbols& symbols, const Block& block, int& last_dc) {
  const int difference = block[0] - last_dc;
  last_dc = block[0];
  if (std::abs(difference) > kMaxDcDifference) return false;
  const int size = size_of(difference);
  symbols.dc_size = static_cast<std::uint8_t>(size);
  symbols.dc_bits =
      static_cast<std::uint16_t>(difference < 0 ? difference + (1 << size) - 1 : difference);

  bool in_range = false;
  const std::uint64_t mask = nonzero(block, in_range);
  symbols.first = static_cast<std::uint16_t>(out.values);
  std::int16_t* value = out.value + out.values;
  for (std::uint64_t left = mask; left != 0; left &= left - 1) {
    *value++ = block[kZigzag[std::countr_zero(left)]];
  }
  symbols.mask = mask;
  symbols.count = static_cast<std::uint8_t>(value - (out.value + out.values));
  symbols.octets = static_cast<std::uint8_t>((std::bit_width(mask) + 7) / 8);
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
