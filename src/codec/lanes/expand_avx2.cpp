#include <immintrin.h>

#include "codec/lanes/expand.h"
#include "codec/lanes/mask_tables.h"

namespace tundish::lanes {
namespace {

// Shuffles for each half of a block: destinations of the 16 zigzag numbers from 16 g on.
struct Places {
  alignas(32) std::uint8_t of[2][4][32];  // [half][g]; 0x80 for none
};
constexpr Places kPlaces = [] {
  Places out = {};
  for (auto& half : out.of) {
    for (auto& group : half) {
      for (std::uint8_t& place : group) place = 0x80;
    }
  }
  for (std::size_t z = 0; z < 64; ++z) {
    const std::size_t at = kZigzag[z];
    out.of[at / 32][z / 16][at % 32] = static_cast<std::uint8_t>(z % 16);
  }
  return out;
}();

inline __attribute__((always_inline)) __m128i load_8(const void* from) {
  return _mm_loadl_epi64(static_cast<const __m128i*>(from));
}

// Returns octet o of the mask with its values in place, zeros elsewhere; advances `value`.
inline __attribute__((always_inline)) __m128i octet(const std::int8_t*& value, std::uint64_t mask,
                                                    int o) {
  const auto part = static_cast<unsigned>(mask >> (8 * o)) & 255u;
  const __m128i out = _mm_shuffle_epi8(load_8(value), load_8(&kMasks.expand[part]));
  value += __builtin_popcount(part);
  return out;
}

}  // namespace

void expand_blocks_avx2(Block* to, std::ptrdiff_t step, const UnitValues& values, int from,
                        int count) {
  for (int b = from; b < from + count; ++b, to += step) {
    const std::int8_t* value = values.value + values.start[b];
    const std::uint64_t mask = values.mask[b];
    __m256i group[4];
    for (int g = 0; g < 4; ++g) {
      const __m128i low = octet(value, mask, 2 * g);
      const __m128i high = octet(value, mask, 2 * g + 1);
      group[g] = _mm256_broadcastsi128_si256(_mm_unpacklo_epi64(low, high));
    }
    for (int h = 0; h < 2; ++h) {
      const auto placed = [&](int g) {
        const auto* places = reinterpret_cast<const __m256i*>(kPlaces.of[h][g]);
        return _mm256_shuffle_epi8(group[g], _mm256_load_si256(places));
      };
      const __m256i bytes = _mm256_or_si256(_mm256_or_si256(placed(0), placed(1)),
                                            _mm256_or_si256(placed(2), placed(3)));
      auto* rows = reinterpret_cast<__m256i*>(to->data() + 32 * h);
      _mm256_storeu_si256(rows, _mm256_cvtepi8_epi16(_mm256_castsi256_si128(bytes)));
      _mm256_storeu_si256(rows + 1, _mm256_cvtepi8_epi16(_mm256_extracti128_si256(bytes, 1)));
    }
    (*to)[0] = values.dc[b];
  }
}

}  // namespace tundish::lanes
