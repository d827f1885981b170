#include <immintrin.h>

#include "augment/pixels/levels/level_table.h"

namespace tundish {
namespace {

// A table split into 16 tables of 16 levels. Each holds the exclusive or with the table before it,
// and changes only bytes in its range or above. For other bytes, index - 16 * n has its sign bit
// set, and a shuffle gives 0. The upper 128 levels start over, because the sign bit limits an index
// to 7 bits.
struct Changes {
  alignas(16) std::uint8_t level[256];
};

void set(Changes& out, const std::uint8_t* table) {
  for (int i = 0; i < 256; ++i) {
    out.level[i] = i % 128 < 16 ? table[i] : static_cast<std::uint8_t>(table[i] ^ table[i - 16]);
  }
}

// Looks up kCount registers; register k uses changes[k * kNext].
template <int kCount, int kNext>
void look_up(__m256i* levels, const Changes* changes) {
  const __m256i sixteen = _mm256_set1_epi8(16), sign = _mm256_set1_epi8(-128);
  __m256i index[kCount], result[kCount];
  for (int k = 0; k < kCount; ++k) {
    index[k] = levels[k];
    result[k] = _mm256_setzero_si256();
  }
  for (int part = 0; part < 16; ++part) {
    for (int k = 0; k < kCount; ++k) {
      const __m256i change = _mm256_broadcastsi128_si256(
          _mm_load_si128(reinterpret_cast<const __m128i*>(changes[k * kNext].level + 16 * part)));
      if (part == 8) index[k] = _mm256_xor_si256(levels[k], sign);
      result[k] = _mm256_xor_si256(result[k], _mm256_shuffle_epi8(change, index[k]));
      index[k] = _mm256_subs_epi8(index[k], sixteen);
    }
  }
  for (int k = 0; k < kCount; ++k) levels[k] = result[k];
}

// Shuffle orders of 16 bytes. [to][from]: the bytes that register `to` takes from register `from`.
struct Orders {
  alignas(16) std::int8_t byte[3][3][16];
};

// Moves byte 3 * i + c of three registers to byte i of channel c, and back.
constexpr Orders to_channels() {
  Orders out{};
  for (int to = 0; to < 3; ++to) {
    for (int from = 0; from < 3; ++from) {
      for (int i = 0; i < 16; ++i) {
        const int byte = 3 * i + to;
        out.byte[to][from][i] = static_cast<std::int8_t>(byte / 16 == from ? byte % 16 : -1);
      }
    }
  }
  return out;
}
constexpr Orders to_pixels() {
  Orders out{};
  for (int to = 0; to < 3; ++to) {
    for (int from = 0; from < 3; ++from) {
      for (int i = 0; i < 16; ++i) {
        const int byte = 16 * to + i;
        out.byte[to][from][i] = static_cast<std::int8_t>(byte % 3 == from ? byte / 3 : -1);
      }
    }
  }
  return out;
}
constexpr Orders kToChannels = to_channels(), kToPixels = to_pixels();

void reorder(__m256i* levels, const Orders& orders) {
  __m256i out[3];
  for (int to = 0; to < 3; ++to) {
    __m256i part[3];
    for (int from = 0; from < 3; ++from) {
      const __m256i order = _mm256_broadcastsi128_si256(
          _mm_load_si128(reinterpret_cast<const __m128i*>(orders.byte[to][from])));
      part[from] = _mm256_shuffle_epi8(levels[from], order);
    }
    out[to] = _mm256_or_si256(_mm256_or_si256(part[0], part[1]), part[2]);
  }
  for (int k = 0; k < 3; ++k) levels[k] = out[k];
}

}  // namespace

void apply_same_levels_avx2(std::uint8_t* rgb, std::size_t bytes, const std::uint8_t* table) {
  constexpr int kTogether = 4;
  Changes changes;
  set(changes, table);
  std::size_t i = 0;
  for (; i + 32 * kTogether <= bytes; i += 32 * kTogether) {
    __m256i* at = reinterpret_cast<__m256i*>(rgb + i);
    __m256i levels[kTogether];
    for (int k = 0; k < kTogether; ++k) levels[k] = _mm256_loadu_si256(at + k);
    look_up<kTogether, 0>(levels, &changes);
    for (int k = 0; k < kTogether; ++k) _mm256_storeu_si256(at + k, levels[k]);
  }
  for (; i < bytes; ++i) rgb[i] = table[rgb[i]];
}

void apply_levels_avx2(std::uint8_t* rgb, std::size_t bytes, const std::uint8_t* tables) {
  Changes changes[3];
  for (int c = 0; c < 3; ++c) set(changes[c], tables + 256 * c);
  std::size_t i = 0;
  for (; i + 96 <= bytes; i += 96) {
    // Each half of the three registers holds 16 pixels.
    __m128i* at = reinterpret_cast<__m128i*>(rgb + i);
    __m256i levels[3];
    for (int k = 0; k < 3; ++k) levels[k] = _mm256_loadu2_m128i(at + 3 + k, at + k);
    reorder(levels, kToChannels);
    look_up<3, 1>(levels, changes);
    reorder(levels, kToPixels);
    for (int k = 0; k < 3; ++k) _mm256_storeu2_m128i(at + 3 + k, at + k, levels[k]);
  }
  for (; i < bytes; ++i) rgb[i] = tables[i % 3 * 256 + rgb[i]];
}

}  // namespace tundish
