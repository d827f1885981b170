#include <immintrin.h>

#include "augment/pixels/levels/level_table.h"

namespace tundish {
namespace {

struct Levels {
  __m512i part[4];  // 64 levels each
};

Levels load(const std::uint8_t* table) {
  Levels out;
  for (int i = 0; i < 4; ++i) out.part[i] = _mm512_loadu_si512(table + 64 * i);
  return out;
}

__m512i look_up(const Levels& levels, __m512i index) {
  const __m512i low = _mm512_permutex2var_epi8(levels.part[0], index, levels.part[1]);
  const __m512i high = _mm512_permutex2var_epi8(levels.part[2], index, levels.part[3]);
  return _mm512_mask_mov_epi8(low, _mm512_movepi8_mask(index), high);
}

// Calls step(levels, number) for every 64 bytes; the last call may have fewer bytes.
template <class Step>
void each_register(std::uint8_t* rgb, std::size_t bytes, Step step) {
  std::size_t i = 0;
  int number = 0;  // register number modulo 3
  for (; i + 192 <= bytes; i += 192) {
    for (int k = 0; k < 3; ++k) {
      std::uint8_t* at = rgb + i + 64 * k;
      _mm512_storeu_si512(at, step(_mm512_loadu_si512(at), k));
    }
  }
  for (; i < bytes; i += 64, ++number) {
    const std::size_t rest = bytes - i;
    const __mmask64 here = rest >= 64 ? ~__mmask64{0} : (__mmask64{1} << rest) - 1;
    const __m512i levels = _mm512_maskz_loadu_epi8(here, rgb + i);
    _mm512_mask_storeu_epi8(rgb + i, here, step(levels, number));
  }
}

}  // namespace

void apply_same_levels_avx512(std::uint8_t* rgb, std::size_t bytes, const std::uint8_t* table) {
  const Levels levels = load(table);
  each_register(rgb, bytes, [&](__m512i index, int) { return look_up(levels, index); });
}

void apply_levels_avx512(std::uint8_t* rgb, std::size_t bytes, const std::uint8_t* tables) {
  const Levels red = load(tables), green = load(tables + 256), blue = load(tables + 512);
  // Masks of the bytes of one channel. The register number selects the mask: 64 is 1 modulo 3.
  constexpr __mmask64 kThird[3] = {0x9249249249249249u, 0x2492492492492492u, 0x4924924924924924u};
  each_register(rgb, bytes, [&](__m512i index, int number) {
    const __m512i two =
        _mm512_mask_mov_epi8(look_up(red, index), kThird[(4 - number) % 3], look_up(green, index));
    return _mm512_mask_mov_epi8(two, kThird[(5 - number) % 3], look_up(blue, index));
  });
}

}  // namespace tundish
