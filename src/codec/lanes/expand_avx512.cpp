#include <immintrin.h>

#include "codec/lanes/block_finder_avx512.h"
#include "codec/lanes/expand.h"

namespace tundish::lanes {
namespace {

// The zigzag number of the coefficient at each position of a block, twice. The second
// copy becomes the high byte, from which the sign is extended.
struct Places {
  alignas(64) std::uint8_t of[128];
};
constexpr Places kPlaces = [] {
  Places out = {};
  for (std::size_t z = 0; z < 64; ++z) {
    const std::size_t at = std::size_t{2} * kZigzag[z];
    out.of[at] = out.of[at + 1] = static_cast<std::uint8_t>(z);
  }
  return out;
}();

}  // namespace

void expand_blocks_avx512(Block* to, std::ptrdiff_t step, const UnitValues& values, int from,
                          int count) {
  const __m512i low = _mm512_load_si512(kPlaces.of);
  const __m512i high = _mm512_load_si512(kPlaces.of + 64);
  for (int b = from; b < from + count; ++b, to += step) {
    const __m512i packed = _mm512_loadu_si512(values.value + values.start[b]);
    const __m512i zigzag = _mm512_maskz_expand_epi8(values.mask[b], packed);
    _mm512_storeu_si512(to->data(), _mm512_srai_epi16(_mm512_permutexvar_epi8(low, zigzag), 8));
    _mm512_storeu_si512(to->data() + 32,
                        _mm512_srai_epi16(_mm512_permutexvar_epi8(high, zigzag), 8));
    (*to)[0] = values.dc[b];
  }
}

void put_escapes_avx512(Block* const* at, const UnitValues& values) {
  const avx512::BlockFinder finder(values);
  for (int i = 0; i < values.escapes; ++i) {
    const int position = values.escape[i].position;
    const int block = finder.find(position);
    const std::uint64_t rank = std::uint64_t{1} << (position - values.start[block]);
    const std::uint64_t place = _pdep_u64(rank, values.mask[block]);
    (*at[block])[kZigzag[_tzcnt_u64(place) & 63]] = values.escape[i].value;
  }
}

}  // namespace tundish::lanes
