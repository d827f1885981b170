#include "codec/decode/png_unfilter.h"

#include <emmintrin.h>

#include <cstdlib>
#include <cstring>

namespace tundish {
namespace {

constexpr int kSub = 1, kUp = 2, kAverage = 3, kPaeth = 4;

int predictor(int filter, int left, int up, int corner) {
  switch (filter) {
    case kSub:
      return left;
    case kUp:
      return up;
    case kAverage:
      return (left + up) / 2;
    case kPaeth: {
      const int estimate = left + up - corner;
      const int to_left = std::abs(estimate - left), to_up = std::abs(estimate - up),
                to_corner = std::abs(estimate - corner);
      if (to_left <= to_up && to_left <= to_corner) return left;
      return to_up <= to_corner ? up : corner;
    }
    default:
      return 0;
  }
}

// Processes one byte at a time, for pixels that are not 1, 3 or 4 bytes.
template <int kFilter>
void by_bytes(std::uint8_t* row, const std::uint8_t* above, std::size_t bytes, std::size_t pixel) {
  for (std::size_t i = 0; i < bytes; ++i) {
    const int left = i >= pixel ? row[i - pixel] : 0;
    const int up = above ? above[i] : 0;
    const int corner = above && i >= pixel ? above[i - pixel] : 0;
    row[i] = static_cast<std::uint8_t>(row[i] + predictor(kFilter, left, up, corner));
  }
}

// Pixels of one byte: keeps the left neighbor in a register, since each byte depends on it.
template <int kFilter>
void by_grays(std::uint8_t* row, const std::uint8_t* above, std::size_t bytes) {
  int left = 0, corner = 0;
  for (std::size_t i = 0; i < bytes; ++i) {
    const int up = kFilter == kSub ? 0 : above[i];
    int nearest = kFilter == kSub ? left : (left + up) >> 1;
    if constexpr (kFilter == kPaeth) {
      const int to_left = std::abs(up - corner), to_up = std::abs(left - corner),
                to_corner = std::abs(up - corner + left - corner);
      nearest = to_up <= to_corner ? up : corner;
      nearest = ((to_left <= to_up) & (to_left <= to_corner)) ? left : nearest;
    }
    left = static_cast<std::uint8_t>(row[i] + nearest);
    corner = up;
    row[i] = static_cast<std::uint8_t>(left);
  }
}

// Loads a pixel of 3 or 4 bytes into a register's low bytes. With 3, the fourth byte is arbitrary:
// bytes do not mix. Copying 3 bytes would go through memory, which takes longer than the filter.
template <std::size_t kPixel>
__m128i load_pixel(const std::uint8_t* from, bool last) {
  std::uint32_t bits = 0;
  if (kPixel == 4 || !last) {
    std::memcpy(&bits, from, 4);
  } else {
    bits = from[0] | static_cast<std::uint32_t>(from[1]) << 8 |
           static_cast<std::uint32_t>(from[2]) << 16;
  }
  return _mm_cvtsi32_si128(static_cast<int>(bits));
}

template <std::size_t kPixel>
void store_pixel(std::uint8_t* to, __m128i pixel) {
  const auto bits = static_cast<std::uint32_t>(_mm_cvtsi128_si32(pixel));
  const auto low = static_cast<std::uint16_t>(bits);
  if (kPixel == 4) {
    std::memcpy(to, &bits, 4);
  } else {
    std::memcpy(to, &low, 2);
    to[2] = static_cast<std::uint8_t>(bits >> 16);
  }
}

template <std::size_t kPixel>
void sub(std::uint8_t* row, std::size_t bytes) {
  __m128i left = _mm_setzero_si128();
  for (std::size_t i = 0; i < bytes; i += kPixel) {
    left = _mm_add_epi8(load_pixel<kPixel>(row + i, i + kPixel >= bytes), left);
    store_pixel<kPixel>(row + i, left);
  }
}

void up(std::uint8_t* row, const std::uint8_t* above, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) row[i] = static_cast<std::uint8_t>(row[i] + above[i]);
}

template <std::size_t kPixel>
void average(std::uint8_t* row, const std::uint8_t* above, std::size_t bytes) {
  const __m128i one = _mm_set1_epi8(1);
  __m128i left = _mm_setzero_si128();
  for (std::size_t i = 0; i < bytes; i += kPixel) {
    const bool last = i + kPixel >= bytes;
    const __m128i above_it = load_pixel<kPixel>(above + i, last);
    // _mm_avg_epu8 rounds up: subtracts one if the sum is odd.
    const __m128i odd = _mm_and_si128(_mm_xor_si128(left, above_it), one);
    const __m128i mean = _mm_sub_epi8(_mm_avg_epu8(left, above_it), odd);
    left = _mm_add_epi8(load_pixel<kPixel>(row + i, last), mean);
    store_pixel<kPixel>(row + i, left);
  }
}

__m128i absolute(__m128i words) {
  return _mm_max_epi16(words, _mm_sub_epi16(_mm_setzero_si128(), words));
}

__m128i choose(__m128i mask, __m128i yes, __m128i no) {
  return _mm_or_si128(_mm_and_si128(mask, yes), _mm_andnot_si128(mask, no));
}

// Uses 16-bit words, since differences need 9 bits.
template <std::size_t kPixel>
void paeth(std::uint8_t* row, const std::uint8_t* above, std::size_t bytes) {
  const __m128i zero = _mm_setzero_si128();
  __m128i left = zero, corner = zero;
  for (std::size_t i = 0; i < bytes; i += kPixel) {
    const bool last = i + kPixel >= bytes;
    const __m128i above_it = _mm_unpacklo_epi8(load_pixel<kPixel>(above + i, last), zero);
    const __m128i up_less = _mm_sub_epi16(above_it, corner),
                  left_less = _mm_sub_epi16(left, corner);
    const __m128i to_left = absolute(up_less), to_up = absolute(left_less);
    const __m128i to_corner = absolute(_mm_add_epi16(up_less, left_less));
    const __m128i least = _mm_min_epi16(to_corner, _mm_min_epi16(to_left, to_up));
    const __m128i nearest = choose(_mm_cmpeq_epi16(least, to_left), left,
                                   choose(_mm_cmpeq_epi16(least, to_up), above_it, corner));
    const __m128i coded = _mm_unpacklo_epi8(load_pixel<kPixel>(row + i, last), zero);
    left = _mm_add_epi8(coded, nearest);  // high bytes stay 0
    corner = above_it;
    store_pixel<kPixel>(row + i, _mm_packus_epi16(left, left));
  }
}

// Returns true if the row was unfiltered.
template <std::size_t kPixel>
bool unfilter_pixels(int filter, std::uint8_t* row, const std::uint8_t* above, std::size_t bytes) {
  if (filter == kSub) {
    sub<kPixel>(row, bytes);
  } else if (filter == kAverage && above) {
    average<kPixel>(row, above, bytes);
  } else if (filter == kPaeth && above) {
    paeth<kPixel>(row, above, bytes);
  } else {
    return false;
  }
  return true;
}

}  // namespace

void unfilter_row_reference(int filter, std::uint8_t* row, const std::uint8_t* above,
                            std::size_t bytes, std::size_t pixel) {
  for (std::size_t i = 0; i < bytes; ++i) {
    const int left = i >= pixel ? row[i - pixel] : 0;
    const int up = above ? above[i] : 0;
    const int corner = above && i >= pixel ? above[i - pixel] : 0;
    row[i] = static_cast<std::uint8_t>(row[i] + predictor(filter, left, up, corner));
  }
}

void unfilter_row(int filter, std::uint8_t* row, const std::uint8_t* above, std::size_t bytes,
                  std::size_t pixel) {
  if (filter == 0 || (filter == kUp && !above)) return;
  if (filter == kUp) return up(row, above, bytes);
  if (pixel == 3 && unfilter_pixels<3>(filter, row, above, bytes)) return;
  if (pixel == 4 && unfilter_pixels<4>(filter, row, above, bytes)) return;
  if (pixel == 1 && filter == kSub) return by_grays<kSub>(row, above, bytes);
  if (pixel == 1 && above && filter == kAverage) return by_grays<kAverage>(row, above, bytes);
  if (pixel == 1 && above && filter == kPaeth) return by_grays<kPaeth>(row, above, bytes);
  if (filter == kSub) return by_bytes<kSub>(row, above, bytes, pixel);
  if (filter == kAverage) return by_bytes<kAverage>(row, above, bytes, pixel);
  by_bytes<kPaeth>(row, above, bytes, pixel);
}

}  // namespace tundish
