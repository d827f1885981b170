// Converts rows of samples to rows of RGB with AVX-512, 64 pixels at a time: upsamples and converts
// chroma in registers.
#include <immintrin.h>

#include "base/host_device.h"
#include "codec/lanes/pixels.h"

namespace tundish::lanes::avx512 {
namespace {

using Vector = __m512i;

struct Bytes64 {
  alignas(64) std::uint8_t value[64];
};

TUNDISH_INLINE Vector load(const Bytes64& bytes) { return _mm512_load_si512(bytes.value); }
TUNDISH_INLINE Vector load(const std::uint8_t* bytes) { return _mm512_loadu_si512(bytes); }
TUNDISH_INLINE __m256i load32(const std::uint8_t* bytes) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes));
}

// 16-bit numbers of 64 pixels.
struct Words {
  Vector half[2];
};

// --- chroma, as 2 * (sample - 128) ---------------------------------------------------------------

TUNDISH_INLINE Vector centered(Vector words) {
  return _mm512_sub_epi16(_mm512_add_epi16(words, words), _mm512_set1_epi16(256));
}

// No upsampling: one sample per pixel.
struct Plain {
  TUNDISH_INLINE Words at(const RowTask& task, int c, int x) const {
    Words out;
    for (int h = 0; h < 2; ++h) {
      const __m256i bytes = load32(task.plane[c] + x + 32 * h);
      const __m256i around_zero = _mm256_xor_si256(bytes, _mm256_set1_epi8(-128));
      const Vector words = _mm512_cvtepi8_epi16(around_zero);
      out.half[h] = _mm512_add_epi16(words, words);
    }
    return out;
  }
};

// Positions in a register that starts with the sample before the first pixel's sample.
constexpr int near_of(int pixel) { return pixel / 2 + 1; }
constexpr int far_of(int pixel) { return pixel % 2 == 0 ? near_of(pixel) - 1 : near_of(pixel) + 1; }

constexpr Bytes64 make_wide_order(int h) {
  Bytes64 out = {};
  for (int i = 0; i < 64; ++i) {
    const int pixel = 32 * h + i / 2;
    out.value[i] = static_cast<std::uint8_t>(i % 2 == 0 ? near_of(pixel) : far_of(pixel));
  }
  return out;
}
constexpr Bytes64 kWideOrder[2] = {make_wide_order(0), make_wide_order(1)};

struct SmoothWide {
  TUNDISH_INLINE Words at(const RowTask& task, int c, int x) const {
    const Vector row = load(task.plane[c] + x / 2 - 1);
    Words out;
    for (int h = 0; h < 2; ++h) {
      const Vector pairs = _mm512_permutexvar_epi8(load(kWideOrder[h]), row);
      const Vector sums = _mm512_maddubs_epi16(pairs, _mm512_set1_epi16(0x0103));
      out.half[h] =
          centered(_mm512_srli_epi16(_mm512_add_epi16(sums, _mm512_set1_epi32(0x00020001)), 2));
    }
    return out;
  }
};

constexpr Bytes64 make_high_order(int h) {
  Bytes64 out = {};
  for (int i = 0; i < 64; ++i)
    out.value[i] = static_cast<std::uint8_t>(32 * h + i / 2 + i % 2 * 64);
  return out;
}
constexpr Bytes64 kHighOrder[2] = {make_high_order(0), make_high_order(1)};

struct SmoothHigh {
  TUNDISH_INLINE Words at(const RowTask& task, int c, int x) const {
    const Vector row = load(task.plane[c] + x), beside = load(task.beside[c] + x);
    const Vector half_up = _mm512_set1_epi16(task.lower ? 2 : 1);
    Words out;
    for (int h = 0; h < 2; ++h) {
      const Vector pairs = _mm512_permutex2var_epi8(row, load(kHighOrder[h]), beside);
      const Vector sums = _mm512_maddubs_epi16(pairs, _mm512_set1_epi16(0x0103));
      out.half[h] = centered(_mm512_srli_epi16(_mm512_add_epi16(sums, half_up), 2));
    }
    return out;
  }
};

// Four samples for each of 16 pixels; packed in pairs, the registers hold 32 pixels in order.
constexpr Bytes64 make_both_order(int k) {
  Bytes64 out = {};
  for (int i = 0; i < 64; ++i) {
    const int pixel = k / 2 * 32 + k % 2 * 4 + i / 16 * 8 + i / 4 % 4;
    const int sample = i % 4 < 2 ? near_of(pixel) : far_of(pixel);
    out.value[i] = static_cast<std::uint8_t>(sample + i % 2 * 64);
  }
  return out;
}
constexpr Bytes64 kBothOrder[4] = {make_both_order(0), make_both_order(1), make_both_order(2),
                                   make_both_order(3)};

struct SmoothBoth {
  TUNDISH_INLINE Words at(const RowTask& task, int c, int x) const {
    const Vector row = load(task.plane[c] + x / 2 - 1), beside = load(task.beside[c] + x / 2 - 1);
    const Vector half_up = _mm512_set1_epi64(0x0000000700000008);
    Vector sums[4];
    for (int k = 0; k < 4; ++k) {
      const Vector samples = _mm512_permutex2var_epi8(row, load(kBothOrder[k]), beside);
      sums[k] = _mm512_dpbusd_epi32(half_up, samples, _mm512_set1_epi32(0x01030309));
    }
    Words out;
    for (int h = 0; h < 2; ++h) {
      const Vector words = _mm512_packus_epi32(sums[2 * h], sums[2 * h + 1]);
      out.half[h] = centered(_mm512_srli_epi16(words, 4));
    }
    return out;
  }
};

constexpr Bytes64 make_repeat_order(int times, int h) {
  Bytes64 out = {};
  for (int i = 0; i < 64; ++i) out.value[i] = static_cast<std::uint8_t>((32 * h + i / 2) / times);
  return out;
}
constexpr Bytes64 kRepeatTwice[2] = {make_repeat_order(2, 0), make_repeat_order(2, 1)};
constexpr Bytes64 kRepeatFourTimes[2] = {make_repeat_order(4, 0), make_repeat_order(4, 1)};

struct Repeat {
  TUNDISH_INLINE Words at(const RowTask& task, int c, int x) const {
    const Vector row = load(task.plane[c] + x / task.repeat);
    const Bytes64* order = task.repeat == 2 ? kRepeatTwice : kRepeatFourTimes;
    Words out;
    for (int h = 0; h < 2; ++h) {
      out.half[h] =
          centered(_mm512_maskz_permutexvar_epi8(0x5555555555555555, load(order[h]), row));
    }
    return out;
  }
};

// --- color ------------------------------------------------------------------------------------

TUNDISH_INLINE Words luma_at(const std::uint8_t* row) {
  return {{_mm512_cvtepu8_epi16(load32(row)), _mm512_cvtepu8_epi16(load32(row + 32))}};
}

// (2 c * factor + 2^14) >> 15 for 22971 and 29033 equals (91881 c + 2^15) >> 16 and
// (116130 c + 2^15) >> 16 for each of the 256 values of c.
TUNDISH_INLINE Words plus_product(const Words& luma, const Words& chroma, short factor) {
  Words out;
  for (int h = 0; h < 2; ++h) {
    const Vector product = _mm512_mulhrs_epi16(chroma.half[h], _mm512_set1_epi16(factor));
    out.half[h] = _mm512_add_epi16(luma.half[h], product);
  }
  return out;
}

// Collects the upper halves of sums computed after _mm512_unpacklo and _mm512_unpackhi.
struct Words32 {
  alignas(64) std::uint16_t value[32];
};
constexpr Words32 make_upper_halves() {
  Words32 out = {};
  for (int i = 0; i < 32; ++i) {
    out.value[i] = static_cast<std::uint16_t>(i / 8 * 8 + i % 4 * 2 + 1 + i % 8 / 4 * 32);
  }
  return out;
}
constexpr Words32 kUpperHalves = make_upper_halves();

// luma + ((-22554 blue - 46802 red + 2^15) >> 16), from doubled chroma.
TUNDISH_INLINE Words green_of(const Words& luma, const Words& blue, const Words& red) {
  constexpr auto kFactors = static_cast<int>(0x10000u * static_cast<std::uint16_t>(-23401) +
                                             static_cast<std::uint16_t>(-11277));
  const Vector factors = _mm512_set1_epi32(kFactors), half_up = _mm512_set1_epi32(1 << 15);
  Words out;
  for (int h = 0; h < 2; ++h) {
    const Vector low = _mm512_unpacklo_epi16(blue.half[h], red.half[h]);
    const Vector high = _mm512_unpackhi_epi16(blue.half[h], red.half[h]);
    const Vector product = _mm512_permutex2var_epi16(_mm512_dpwssd_epi32(half_up, low, factors),
                                                     _mm512_load_si512(kUpperHalves.value),
                                                     _mm512_dpwssd_epi32(half_up, high, factors));
    out.half[h] = _mm512_add_epi16(luma.half[h], product);
  }
  return out;
}

// Builds three registers of interleaved RGB. Inputs: red and green of the first 32 pixels, red and
// green of the last 32, all blue. Only the middle register needs all three; `last` completes it.
constexpr int place_in_pack(int pixel, bool second) {
  return pixel % 32 / 8 * 16 + pixel % 8 + (second ? 8 : 0);
}
constexpr Bytes64 make_mix(int k, bool last) {
  Bytes64 out = {};
  for (int i = 0; i < 64; ++i) {
    const int pixel = (64 * k + i) / 3, channel = (64 * k + i) % 3;
    int from =
        channel == 2 ? 64 + place_in_pack(pixel, pixel >= 32) : place_in_pack(pixel, channel == 1);
    if (last) from = place_in_pack(pixel, channel == 1);
    out.value[i] = static_cast<std::uint8_t>(from);
  }
  return out;
}
constexpr Bytes64 kMix[3] = {make_mix(0, false), make_mix(1, false), make_mix(2, false)};
constexpr Bytes64 kMixLast = make_mix(1, true);
constexpr std::uint64_t make_last_mask() {
  std::uint64_t mask = 0;
  for (int i = 0; i < 64; ++i) {
    if ((64 + i) % 3 != 2 && (64 + i) / 3 >= 32) mask |= std::uint64_t{1} << i;
  }
  return mask;
}

TUNDISH_INLINE void store_rgb(std::uint8_t* out, const Words& red, const Words& green,
                              const Words& blue) {
  const Vector first = _mm512_packus_epi16(red.half[0], green.half[0]);
  const Vector last = _mm512_packus_epi16(red.half[1], green.half[1]);
  const Vector all_blue = _mm512_packus_epi16(blue.half[0], blue.half[1]);
  const Vector middle = _mm512_permutex2var_epi8(first, load(kMix[1]), all_blue);
  _mm512_storeu_si512(out, _mm512_permutex2var_epi8(first, load(kMix[0]), all_blue));
  _mm512_storeu_si512(out + 64,
                      _mm512_mask_permutexvar_epi8(middle, make_last_mask(), load(kMixLast), last));
  _mm512_storeu_si512(out + 128, _mm512_permutex2var_epi8(last, load(kMix[2]), all_blue));
}

template <class Chroma>
void ycc_row(const RowTask& task, Chroma chroma) {
  for (int x = 0; x < task.width; x += 64) {
    const Words luma = luma_at(task.plane[0] + x);
    const Words blue = chroma.at(task, 1, x);
    const Words red = chroma.at(task, 2, x);
    store_rgb(task.rgb + std::ptrdiff_t{3} * x, plus_product(luma, red, 22971),
              green_of(luma, blue, red), plus_product(luma, blue, 29033));
  }
}

constexpr Bytes64 make_thrice(int k) {
  Bytes64 out = {};
  for (int i = 0; i < 64; ++i) out.value[i] = static_cast<std::uint8_t>((64 * k + i) / 3);
  return out;
}
constexpr Bytes64 kThrice[3] = {make_thrice(0), make_thrice(1), make_thrice(2)};

}  // namespace

void gray_row(const RowTask& task) {
  for (int x = 0; x < task.width; x += 64) {
    const Vector gray = load(task.plane[0] + x);
    for (int k = 0; k < 3; ++k) {
      _mm512_storeu_si512(task.rgb + std::ptrdiff_t{3} * x + 64 * k,
                          _mm512_permutexvar_epi8(load(kThrice[k]), gray));
    }
  }
}

void color_row(const RowTask& task, Upsampling upsampling, Color color) {
  if (color == Color::rgb) {
    if (upsampling != Upsampling::none) return scalar::color_row(task, upsampling, color);
    for (int x = 0; x < task.width; x += 64) {
      store_rgb(task.rgb + std::ptrdiff_t{3} * x, luma_at(task.plane[0] + x),
                luma_at(task.plane[1] + x), luma_at(task.plane[2] + x));
    }
    return;
  }
  switch (upsampling) {
    case Upsampling::none:
      return ycc_row(task, Plain{});
    case Upsampling::smooth_wide:
      return ycc_row(task, SmoothWide{});
    case Upsampling::smooth_both:
      return ycc_row(task, SmoothBoth{});
    case Upsampling::smooth_high:
      return ycc_row(task, SmoothHigh{});
    case Upsampling::repeat:
      return ycc_row(task, Repeat{});
  }
}

}  // namespace tundish::lanes::avx512
