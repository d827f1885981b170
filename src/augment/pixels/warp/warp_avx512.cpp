#include <immintrin.h>

#include "augment/pixels/warp/warp_copy.h"
#include "augment/pixels/warp/warp_simd_avx512.h"

namespace tundish {
namespace {

// Computes sixteen pixels in float32. A result is certain if double gives the same byte. A byte is
// the integer part of a value; the float32 and double values differ by less than kError.
struct Guess {
  using Row = SampleRow<Lanes>;
  // Bounds above the rounding errors: 6e-5 for values up to 255 through three lerps, and 1.2e-3 for
  // values up to 2048 through two cubics.
  static constexpr float kLerpError = 2e-4f, kCubicError = 2e-3f;

  struct Axis {
    __m512 part;  // fraction between two pixels
    __m512i first;
  };

  TUNDISH_LANES __m512i joined(__m256i a, __m256i b) {
    return _mm512_inserti64x4(_mm512_castsi256_si512(a), b, 1);
  }
  TUNDISH_LANES Axis axis(__m512d a, __m512d b) {
    const __m512d half = _mm512_set1_pd(0.5);
    const __m512d place[2] = {_mm512_sub_pd(a, half), _mm512_sub_pd(b, half)};
    const __m512d whole[2] = {Lanes::floor(place[0]), Lanes::floor(place[1])};
    const __m256 low = _mm512_cvtpd_ps(_mm512_sub_pd(place[0], whole[0]));
    const __m256 high = _mm512_cvtpd_ps(_mm512_sub_pd(place[1], whole[1]));
    return {_mm512_castsi512_ps(joined(_mm256_castps_si256(low), _mm256_castps_si256(high))),
            joined(Lanes::to_int(whole[0]), Lanes::to_int(whole[1]))};
  }
  // Returns lanes with low <= value < end. Compares as unsigned, so negative values are too large.
  TUNDISH_LANES unsigned between(__m512i value, int low, int end) {
    if (end <= low) return 0;
    return _mm512_cmplt_epu32_mask(_mm512_sub_epi32(value, _mm512_set1_epi32(low)),
                                   _mm512_set1_epi32(end - low));
  }
  TUNDISH_LANES __m512i row_offsets(const Pixels& image, __m512i column, __m512i row) {
    const __m512i pixel =
        _mm512_add_epi32(_mm512_mullo_epi32(row, _mm512_set1_epi32(image.width)), column);
    return _mm512_add_epi32(_mm512_add_epi32(pixel, pixel), pixel);
  }
  TUNDISH_LANES __m512 levels(__m512i bytes, int factors) {
    return _mm512_cvtepi32_ps(
        _mm512_dpbusd_epi32(_mm512_setzero_si512(), bytes, _mm512_set1_epi32(factors)));
  }
  TUNDISH_LANES __m512i clipped(__m512 value) {
    const __m512 most = _mm512_min_ps(value, _mm512_set1_ps(255.0f));
    return _mm512_cvttps_epi32(_mm512_max_ps(most, _mm512_setzero_ps()));
  }
  // Removes uncertain lanes from `certain`; lanes in `exact` have no error.
  TUNDISH_LANES __m512i whole_part(__m512 value, float error, unsigned exact, unsigned& certain) {
    const __m512i above = clipped(_mm512_add_ps(value, _mm512_set1_ps(error)));
    const __m512i below = clipped(_mm512_sub_ps(value, _mm512_set1_ps(error)));
    certain &= _mm512_cmpeq_epi32_mask(above, below) | exact;
    return above;
  }

  // Splits 4 x 16 bytes in each of four registers into red, green and blue. Lane i gets bytes 0, 3,
  // 6 and 9 of its pixel's 16 bytes for red, and the bytes after these for green and blue.
  TUNDISH_LANES void split(__m512i (&out)[3], const __m512i (&in)[4]) {
    const __m512i step =
        _mm512_setr_epi32(0, 16, 32, 48, 64, 80, 96, 112, 0, 16, 32, 48, 64, 80, 96, 112);
    const __m512i red = _mm512_add_epi8(_mm512_mullo_epi32(step, _mm512_set1_epi32(0x01010101)),
                                        _mm512_set1_epi32(0x09060300));
    const __m512i green = _mm512_maskz_mov_epi32(0xff00, _mm512_set1_epi32(0x01010101));
    const __m512i two = _mm512_add_epi8(red, green);
    const __m512i blue = _mm512_add_epi8(red, _mm512_set1_epi8(2));
    const __m512i a = _mm512_permutex2var_epi8(in[0], two, in[1]);
    const __m512i b = _mm512_permutex2var_epi8(in[2], two, in[3]);
    out[0] = _mm512_shuffle_i64x2(a, b, 0x44);
    out[1] = _mm512_shuffle_i64x2(a, b, 0xee);
    out[2] =
        _mm512_inserti64x4(_mm512_permutex2var_epi8(in[0], blue, in[1]),
                           _mm512_castsi512_si256(_mm512_permutex2var_epi8(in[2], blue, in[3])), 1);
  }

  TUNDISH_LANES __m512 cubic(__m512 v2, __m512 p2, __m512 p3, __m512 p4, __m512 t) {
    return _mm512_fmadd_ps(t, _mm512_fmadd_ps(t, _mm512_fmadd_ps(t, p4, p3), p2), v2);
  }
  TUNDISH_LANES __m512 cubic_of(const __m512 (&v)[4], __m512 t) {
    const __m512 less = _mm512_sub_ps(v[0], v[1]), more = _mm512_sub_ps(v[2], v[3]);
    return cubic(v[1], _mm512_sub_ps(v[2], v[0]), _mm512_add_ps(_mm512_add_ps(less, less), more),
                 _mm512_sub_ps(_mm512_setzero_ps(), _mm512_add_ps(less, more)), t);
  }

  TUNDISH_LANES unsigned bicubic(__m512i (&out)[3], const Pixels& image, const Axis& x,
                                 const Axis& y) {
    __m512 value[3][4];
    unsigned same[3] = {0xffff, 0xffff, 0xffff};  // lanes with equal levels around the pixel
    __m512i turned[3];
    const __m512i column = _mm512_sub_epi32(x.first, _mm512_set1_epi32(1));
    for (int i = 0; i < 4; ++i) {
      alignas(64) std::int32_t offsets[16];
      const __m512i row = _mm512_add_epi32(y.first, _mm512_set1_epi32(i - 1));
      _mm512_store_si512(offsets, row_offsets(image, column, row));
      const __m512i in[4] = {
          Lanes::four_rows(image.rgb, offsets), Lanes::four_rows(image.rgb, offsets + 4),
          Lanes::four_rows(image.rgb, offsets + 8), Lanes::four_rows(image.rgb, offsets + 12)};
      __m512i bytes[3];
      split(bytes, in);
      for (int c = 0; c < 3; ++c) {
        if (i == 0) turned[c] = _mm512_rol_epi32(bytes[c], 8);
        same[c] &= _mm512_cmpeq_epi32_mask(bytes[c], turned[c]);
        value[c][i] = cubic(levels(bytes[c], Lanes::kV2), levels(bytes[c], Lanes::kP2),
                            levels(bytes[c], Lanes::kP3), levels(bytes[c], Lanes::kP4), x.part);
      }
    }
    unsigned certain = 0xffff;
    for (int c = 0; c < 3; ++c) {
      out[c] = whole_part(cubic_of(value[c], y.part), kCubicError, same[c], certain);
    }
    return certain;
  }

  TUNDISH_LANES __m512i gather(const Pixels& image, __m512i offsets, int half) {
    const __m256i some =
        half ? _mm512_extracti64x4_epi64(offsets, 1) : _mm512_castsi512_si256(offsets);
    return _mm512_i32gather_epi64(some, image.rgb, 1);
  }

  TUNDISH_LANES unsigned bilinear(__m512i (&out)[3], const Pixels& image, const Axis& x,
                                  const Axis& y) {
    const __m512i below_row = _mm512_add_epi32(y.first, _mm512_set1_epi32(1));
    const __m512i above = row_offsets(image, x.first, y.first);
    const __m512i below = row_offsets(image, x.first, below_row);
    const __m512i in[4] = {gather(image, above, 0), gather(image, below, 0),
                           gather(image, above, 1), gather(image, below, 1)};
    // Lane i: the levels of its pixel, of the right neighbor, and of the two below.
    const __m512i step =
        _mm512_setr_epi32(0, 8, 16, 24, 32, 40, 48, 56, 0, 8, 16, 24, 32, 40, 48, 56);
    const __m512i place = _mm512_add_epi8(_mm512_mullo_epi32(step, _mm512_set1_epi32(0x01010101)),
                                          _mm512_set1_epi32(0x43400300));
    unsigned certain = 0xffff;
    for (int c = 0; c < 3; ++c) {
      const __m512i at = _mm512_add_epi8(place, _mm512_set1_epi8(static_cast<char>(c)));
      const __m512i low = _mm512_permutex2var_epi8(in[0], at, in[1]);
      const __m512i high = _mm512_permutex2var_epi8(in[2], at, in[3]);
      const __m512i bytes = _mm512_mask_blend_epi32(0xff00, low, high);
      const __m512 first = _mm512_fmadd_ps(levels(bytes, 0x000001ff), x.part, levels(bytes, 1));
      const __m512 second =
          _mm512_fmadd_ps(levels(bytes, 0x01ff0000), x.part, levels(bytes, 0x00010000));
      const __m512 value = _mm512_fmadd_ps(_mm512_sub_ps(second, first), y.part, first);
      const unsigned same = _mm512_cmpeq_epi32_mask(bytes, _mm512_rol_epi32(bytes, 8));
      out[c] = whole_part(value, kLerpError, same, certain);
    }
    return certain;
  }

  TUNDISH_LANES void store(std::uint8_t* to, const __m512i (&levels)[3]) {
    const __m512i together =
        _mm512_or_si512(_mm512_or_si512(levels[0], _mm512_slli_epi32(levels[1], 8)),
                        _mm512_slli_epi32(levels[2], 16));
    // Compresses in a register: compressing into memory takes 100 times as long on Zen 4.
    const __m512i bytes = _mm512_maskz_compress_epi8(0x7777777777777777u, together);
    _mm512_mask_storeu_epi8(to, (std::uint64_t{1} << 48) - 1, bytes);
  }

  // Pixels x .. x + 15 of the row. False: outside the image or uncertain; recompute these pixels.
  template <Filter kFilter>
  TUNDISH_LANES bool run(const WarpRows& rows, int x, int y) {
    const Pixels image = rows.image;
    const Row::Places low = Row::places(rows, x, y), high = Row::places(rows, x + 8, y);
    const Axis across = axis(low.x, high.x), down = axis(low.y, high.y);
    // Bytes past the last needed pixel are read, but not in the last row.
    constexpr int kBefore = kFilter == Filter::bicubic ? 1 : 0;
    const unsigned inside = between(across.first, kBefore, image.width - 1 - kBefore) &
                            between(down.first, kBefore, image.height - 2 - kBefore);
    if (inside != 0xffff) return false;
    __m512i levels[3];
    const unsigned certain = kFilter == Filter::bicubic ? bicubic(levels, image, across, down)
                                                        : bilinear(levels, image, across, down);
    std::uint8_t* const to = rows.row(y) + 3 * x;
    store(to, levels);
    const unsigned left = ~certain & 0xffff;
    if (__builtin_popcount(left) > 3) return false;
    if (left & 0xff) Row::finish(to, image, kFilter, low, left & 0xff);
    if (left >> 8) Row::finish(to + 24, image, kFilter, high, left >> 8);
    return true;
  }

  template <Filter kFilter>
  static void run_row(const WarpRows& rows, int y) {
    const int width = rows.size.width;
    for (int x = 0; x < width; x += 16) {
      const int end = x + 16 < width ? x + 16 : width;
      if (end - x == 16 && run<kFilter>(rows, x, y)) continue;
      Row::run(rows, y, x, end);
    }
  }
};

}  // namespace

void sample_row_avx512(const WarpRows& rows, int y) {
  const Filter filter = rows.step.filter;
  if (filter == Filter::nearest) return SampleRow<Lanes>::run(rows, y, 0, rows.size.width);
  if (filter == Filter::bilinear) return Guess::run_row<Filter::bilinear>(rows, y);
  Guess::run_row<Filter::bicubic>(rows, y);
}

void fixed_row_avx512(std::uint8_t* to, const Pixels& image, const FixedRow& row, int n,
                      std::int32_t* offsets) {
  const __m512i numbers = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const __m512i width = _mm512_set1_epi32(image.width);
  const __m512i x_across = _mm512_set1_epi32(row.x_across);
  const __m512i y_across = _mm512_set1_epi32(row.y_across);
  __m512i x = _mm512_add_epi32(_mm512_set1_epi32(row.x), _mm512_mullo_epi32(numbers, x_across));
  __m512i y = _mm512_add_epi32(_mm512_set1_epi32(row.y), _mm512_mullo_epi32(numbers, y_across));
  for (int i = 0; i < n; i += 16) {
    const __m512i lines = _mm512_mullo_epi32(_mm512_srai_epi32(y, 16), width);
    const __m512i pixel = _mm512_add_epi32(lines, _mm512_srai_epi32(x, 16));
    const __m512i offset = _mm512_add_epi32(_mm512_add_epi32(pixel, pixel), pixel);
    _mm512_storeu_si512(offsets + i, offset);
    x = _mm512_add_epi32(x, _mm512_slli_epi32(x_across, 4));
    y = _mm512_add_epi32(y, _mm512_slli_epi32(y_across, 4));
  }
  copy_pixels_here(to, image.rgb, offsets, n);
}

}  // namespace tundish
