// Converts rows of samples to rows of RGB in registers that consist of 16-byte lanes, 16 pixels per
// lane. Each instruction set compiles its own copy, so everything here is internal to the including
// file.
#pragma once

#include "base/host_device.h"
#include "codec/lanes/pixels.h"

namespace tundish::lanes {
namespace {

struct Bytes16 {
  alignas(16) std::uint8_t value[16];
};

// The pixels' 16-bit numbers: each half holds eight pixels of every lane.
template <class V>
struct Words {
  V half[2];
};

template <class V>
TUNDISH_INLINE V set16(int even, int odd) {
  return V::set32(static_cast<int>(static_cast<std::uint32_t>(odd) << 16 |
                                   (static_cast<std::uint32_t>(even) & 0xffff)));
}

// --- chroma, as 2 * (sample - 128) --------------------------------------------------------------

template <class V>
TUNDISH_INLINE V centered(V words) {
  return sub16(add16(words, words), set16<V>(256, 256));
}

// 2 * byte - 2 * 128, in one instruction.
template <class V>
TUNDISH_INLINE Words<V> centered_bytes(V bytes) {
  const V middle = V::set32(static_cast<int>(0x80808080));
  const V factors = V::set32(static_cast<int>(0xfe02fe02));
  return {{maddubs(unpacklo8(bytes, middle), factors), maddubs(unpackhi8(bytes, middle), factors)}};
}

// Returns three parts of the byte at the even position and one part of the odd byte.
template <class V>
TUNDISH_INLINE V three_to_one(V pairs) {
  return maddubs(pairs, V::set32(0x01030103));
}

template <class V>
TUNDISH_INLINE Words<V> smooth_wide(const std::uint8_t* row) {
  const V here = V::load_eights(row);
  const V left = three_to_one(unpacklo8(here, V::load_eights(row - 1)));
  const V right = three_to_one(unpacklo8(here, V::load_eights(row + 1)));
  const V even = centered(srl16<2>(add16(left, set16<V>(1, 1))));
  const V odd = centered(srl16<2>(add16(right, set16<V>(2, 2))));
  return {{unpacklo16(even, odd), unpackhi16(even, odd)}};
}

template <class V>
TUNDISH_INLINE Words<V> smooth_high(const std::uint8_t* row, const std::uint8_t* beside,
                                    bool lower) {
  const V here = V::load(row), there = V::load(beside);
  const V half_up = lower ? set16<V>(2, 2) : set16<V>(1, 1);
  const auto mix = [&](V pairs) __attribute__((always_inline)) {
    return centered(srl16<2>(add16(three_to_one(pairs), half_up)));
  };
  return {{mix(unpacklo8(here, there)), mix(unpackhi8(here, there))}};
}

template <class V>
TUNDISH_INLINE Words<V> smooth_both(const std::uint8_t* row, const std::uint8_t* beside) {
  const auto column = [&](int x) __attribute__((always_inline)) {
    return three_to_one(unpacklo8(V::load_eights(row + x), V::load_eights(beside + x)));
  };
  const V here = column(0);
  const V thrice = add16(here, add16(here, here));
  const V even = centered(srl16<4>(add16(add16(thrice, column(-1)), set16<V>(8, 8))));
  const V odd = centered(srl16<4>(add16(add16(thrice, column(1)), set16<V>(7, 7))));
  return {{unpacklo16(even, odd), unpackhi16(even, odd)}};
}

template <class V>
TUNDISH_INLINE Words<V> repeat_four_times(const std::uint8_t* row) {
  constexpr Bytes16 kFourTimes = {{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3}};
  return centered_bytes(shuffle8(V::load_fours(row), V::load16(kFourTimes.value)));
}

template <class V, Upsampling kUpsampling>
TUNDISH_INLINE Words<V> chroma_at(const RowTask& task, int c, int x) {
  const std::uint8_t* row = task.plane[c];
  const std::uint8_t* beside = task.beside[c];
  switch (kUpsampling) {
    case Upsampling::none:
      return centered_bytes(V::load(row + x));
    case Upsampling::smooth_wide:
      return smooth_wide<V>(row + x / 2);
    case Upsampling::smooth_high:
      return smooth_high<V>(row + x, beside + x, task.lower);
    case Upsampling::smooth_both:
      return smooth_both<V>(row + x / 2, beside + x / 2);
    case Upsampling::repeat:
      break;
  }
  return repeat_four_times<V>(row + x / 4);
}

// --- color ------------------------------------------------------------------------------------

template <class V>
TUNDISH_INLINE Words<V> words_of(V bytes) {
  const V zero = V::set32(0);
  return {{unpacklo8(bytes, zero), unpackhi8(bytes, zero)}};
}

// (2 c * factor + 2^14) >> 15 for 22971 and 29033 equals (91881 c + 2^15) >> 16 and
// (116130 c + 2^15) >> 16 for each of the 256 values of c.
template <class V>
TUNDISH_INLINE V plus_product(const Words<V>& luma, const Words<V>& chroma, int factor) {
  const V factors = set16<V>(factor, factor);
  return packus16(add16(luma.half[0], mulhrs16(chroma.half[0], factors)),
                  add16(luma.half[1], mulhrs16(chroma.half[1], factors)));
}

// luma + ((-22554 blue - 46802 red + 2^15) >> 16), from doubled chroma; even and odd pixels are
// processed separately.
template <class V>
TUNDISH_INLINE V green_of(const Words<V>& luma, const Words<V>& blue, const Words<V>& red) {
  const V factors = set16<V>(-11277, -23401), half_up = V::set32(1 << 15);
  const auto product = [&](V b, V r) __attribute__((always_inline)) {
    const V even = add32(madd(odd_words(b, sll32<16>(r)), factors), half_up);
    const V odd = add32(madd(odd_words(srl32<16>(b), r), factors), half_up);
    return odd_words(srl32<16>(even), odd);
  };
  return packus16(add16(luma.half[0], product(blue.half[0], red.half[0])),
                  add16(luma.half[1], product(blue.half[1], red.half[1])));
}

// Byte i of register k of interleaved RGB belongs to channel (16 k + i) % 3. Each channel's 16
// bytes have distinct positions over all three registers, so one shuffle per channel is enough.
constexpr Bytes16 make_spread(int channel) {
  Bytes16 out = {};
  for (int pixel = 0; pixel < 16; ++pixel) {
    out.value[(3 * pixel + channel) % 16] = static_cast<std::uint8_t>(pixel);
  }
  return out;
}
constexpr Bytes16 make_choice(int k, int channel) {
  Bytes16 out = {};
  for (int i = 0; i < 16; ++i) out.value[i] = (16 * k + i) % 3 == channel ? 0x80 : 0;
  return out;
}
constexpr Bytes16 kSpread[3] = {make_spread(0), make_spread(1), make_spread(2)};
constexpr Bytes16 kChoice[3][3] = {{make_choice(0, 0), make_choice(0, 1), make_choice(0, 2)},
                                   {make_choice(1, 0), make_choice(1, 1), make_choice(1, 2)},
                                   {make_choice(2, 0), make_choice(2, 1), make_choice(2, 2)}};

template <class V>
TUNDISH_INLINE void store_rgb(std::uint8_t* out, V red, V green, V blue) {
  const V r = shuffle8(red, V::load16(kSpread[0].value));
  const V g = shuffle8(green, V::load16(kSpread[1].value));
  const V b = shuffle8(blue, V::load16(kSpread[2].value));
  const auto mix = [&](int k) __attribute__((always_inline)) {
    return blend8(blend8(r, g, V::load16(kChoice[k][1].value)), b, V::load16(kChoice[k][2].value));
  };
  store_in_turn(out, mix(0), mix(1), mix(2));
}

template <class V, Upsampling kUpsampling>
void ycc_simd(const RowTask& task) {
  constexpr int kStep = 16 * V::kLanes;
  for (int x = 0; x < task.width; x += kStep) {
    const Words<V> luma = words_of(V::load(task.plane[0] + x));
    const Words<V> blue = chroma_at<V, kUpsampling>(task, 1, x);
    const Words<V> red = chroma_at<V, kUpsampling>(task, 2, x);
    store_rgb(task.rgb + std::ptrdiff_t{3} * x, plus_product(luma, red, 22971),
              green_of(luma, blue, red), plus_product(luma, blue, 29033));
  }
}

template <class V>
TUNDISH_INLINE void planes_simd(const RowTask& task, int red, int green, int blue) {
  constexpr int kStep = 16 * V::kLanes;
  for (int x = 0; x < task.width; x += kStep) {
    store_rgb(task.rgb + std::ptrdiff_t{3} * x, V::load(task.plane[red] + x),
              V::load(task.plane[green] + x), V::load(task.plane[blue] + x));
  }
}

template <class V>
TUNDISH_INLINE void gray_simd(const RowTask& task) {
  planes_simd<V>(task, 0, 0, 0);
}

template <class V>
TUNDISH_INLINE void color_simd(const RowTask& task, Upsampling upsampling, Color color) {
  const bool plain = upsampling == Upsampling::none;
  const bool rare = upsampling == Upsampling::repeat && task.repeat != 4;
  if (rare || (color == Color::rgb && !plain)) {
    return scalar::color_row(task, upsampling, color);
  }
  if (color == Color::rgb) return planes_simd<V>(task, 0, 1, 2);
  switch (upsampling) {
    case Upsampling::none:
      return ycc_simd<V, Upsampling::none>(task);
    case Upsampling::smooth_wide:
      return ycc_simd<V, Upsampling::smooth_wide>(task);
    case Upsampling::smooth_both:
      return ycc_simd<V, Upsampling::smooth_both>(task);
    case Upsampling::smooth_high:
      return ycc_simd<V, Upsampling::smooth_high>(task);
    case Upsampling::repeat:
      return ycc_simd<V, Upsampling::repeat>(task);
  }
}

}  // namespace
}  // namespace tundish::lanes
