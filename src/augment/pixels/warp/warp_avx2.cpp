#include <immintrin.h>

#include "augment/pixels/warp/warp_copy.h"
#include "augment/pixels/warp/warp_simd.h"

namespace tundish {
namespace {

struct Lanes {
  static constexpr int kLanes = 4;
  using Double = __m256d;
  using Int = __m128i;
  using Bytes = __m256i;
  using Mask = __m256i;  // all bits of a lane are set or clear

  TUNDISH_LANES Double all(double v) { return _mm256_set1_pd(v); }
  TUNDISH_LANES Double numbers() { return _mm256_setr_pd(0, 1, 2, 3); }
  TUNDISH_LANES Double add(Double a, Double b) { return _mm256_add_pd(a, b); }
  TUNDISH_LANES Double sub(Double a, Double b) { return _mm256_sub_pd(a, b); }
  TUNDISH_LANES Double mul(Double a, Double b) { return _mm256_mul_pd(a, b); }
  TUNDISH_LANES Double div(Double a, Double b) { return _mm256_div_pd(a, b); }
  TUNDISH_LANES Double min(Double a, Double b) { return _mm256_min_pd(a, b); }
  TUNDISH_LANES Double max(Double a, Double b) { return _mm256_max_pd(a, b); }
  TUNDISH_LANES Double floor(Double a) { return _mm256_floor_pd(a); }
  TUNDISH_LANES Mask less(Double a, Double b) {
    return _mm256_castpd_si256(_mm256_cmp_pd(a, b, _CMP_LT_OQ));
  }
  TUNDISH_LANES Mask not_less(Double a, Double b) {
    return _mm256_castpd_si256(_mm256_cmp_pd(a, b, _CMP_GE_OQ));
  }
  TUNDISH_LANES Mask less(Int a, Int b) { return _mm256_cvtepi32_epi64(_mm_cmplt_epi32(a, b)); }
  TUNDISH_LANES Mask both(Mask a, Mask b) { return _mm256_and_si256(a, b); }
  TUNDISH_LANES unsigned bits(Mask mask) {
    return static_cast<unsigned>(_mm256_movemask_pd(_mm256_castsi256_pd(mask)));
  }
  TUNDISH_LANES Int all_ints(int v) { return _mm_set1_epi32(v); }
  TUNDISH_LANES Int add(Int a, Int b) { return _mm_add_epi32(a, b); }
  TUNDISH_LANES Int sub(Int a, Int b) { return _mm_sub_epi32(a, b); }
  TUNDISH_LANES Int mul(Int a, Int b) { return _mm_mullo_epi32(a, b); }
  TUNDISH_LANES Int min(Int a, Int b) { return _mm_min_epi32(a, b); }
  TUNDISH_LANES Int max(Int a, Int b) { return _mm_max_epi32(a, b); }
  TUNDISH_LANES Int low_ints(Bytes bytes) {
    const __m256i low =
        _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6));
    return _mm256_castsi256_si128(low);
  }
  TUNDISH_LANES Int choose(Mask mask, Int a, Int b) {
    return _mm_blendv_epi8(b, a, low_ints(mask));
  }
  TUNDISH_LANES Int to_int(Double a) { return _mm256_cvttpd_epi32(a); }
  TUNDISH_LANES Bytes gather(const std::uint8_t* from, Int offsets, Mask mask) {
    return _mm256_mask_i32gather_epi64(_mm256_setzero_si256(),
                                       reinterpret_cast<const long long*>(from), offsets, mask, 1);
  }
  // A double with the bits of 2^52 and a level in the lower bits is 2^52 + level.
  template <int kByte>
  TUNDISH_LANES Double byte(Bytes bytes) {
    constexpr auto kLow = static_cast<long long>(0x8080808080808000u + kByte);  // 0x80: zero
    const __m256i place = _mm256_set_epi64x(kLow + 8, kLow, kLow + 8, kLow);
    const Double big = all(0x1p52);
    const __m256i sum =
        _mm256_or_si256(_mm256_shuffle_epi8(bytes, place), _mm256_castpd_si256(big));
    return _mm256_sub_pd(_mm256_castsi256_pd(sum), big);
  }
  TUNDISH_LANES Int rgb(Double red, Double green, Double blue) {
    const Int two = _mm_or_si128(to_int(red), _mm_slli_epi32(to_int(green), 8));
    return _mm_or_si128(two, _mm_slli_epi32(to_int(blue), 16));
  }
  TUNDISH_LANES void store(double* to, Double a) { _mm256_storeu_pd(to, a); }
  TUNDISH_LANES void store_pixels(std::uint8_t* to, Int pixels, int count) {
    const __m128i bytes = _mm_shuffle_epi8(
        pixels, _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1));
    if (count == kLanes) {
      _mm_storeu_si64(to, bytes);
      _mm_storeu_si32(to + 8, _mm_srli_si128(bytes, 8));
      return;
    }
    alignas(16) std::uint8_t some[16];
    _mm_store_si128(reinterpret_cast<__m128i*>(some), bytes);
    for (int i = 0; i < 3 * count; ++i) to[i] = some[i];
  }
};

}  // namespace

void sample_row_avx2(const WarpRows& rows, int y) {
  SampleRow<Lanes>::run(rows, y, 0, rows.size.width);
}

void copy_pixels_avx2(std::uint8_t* to, const std::uint8_t* from, const std::int32_t* offsets,
                      int n) {
  copy_pixels_here(to, from, offsets, n);
}

void fixed_row_avx2(std::uint8_t* to, const Pixels& image, const FixedRow& row, int n,
                    std::int32_t* offsets) {
  const __m256i numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const __m256i width = _mm256_set1_epi32(image.width);
  const __m256i x_across = _mm256_set1_epi32(row.x_across);
  const __m256i y_across = _mm256_set1_epi32(row.y_across);
  __m256i x = _mm256_add_epi32(_mm256_set1_epi32(row.x), _mm256_mullo_epi32(numbers, x_across));
  __m256i y = _mm256_add_epi32(_mm256_set1_epi32(row.y), _mm256_mullo_epi32(numbers, y_across));
  for (int i = 0; i < n; i += 8) {
    const __m256i lines = _mm256_mullo_epi32(_mm256_srai_epi32(y, 16), width);
    const __m256i pixel = _mm256_add_epi32(lines, _mm256_srai_epi32(x, 16));
    const __m256i offset = _mm256_add_epi32(_mm256_add_epi32(pixel, pixel), pixel);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(offsets + i), offset);
    x = _mm256_add_epi32(x, _mm256_slli_epi32(x_across, 3));
    y = _mm256_add_epi32(y, _mm256_slli_epi32(y_across, 3));
  }
  copy_pixels_here(to, image.rgb, offsets, n);
}

}  // namespace tundish
