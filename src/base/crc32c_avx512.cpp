// CRC32C by carry-less multiplication, 256 bytes at a time.
//
// A checksum is the remainder of the data, read as one long polynomial, divided by Castagnoli's P.
// Bits may be replaced by bits nearer to the end that leave the same remainder. 128 bits that
// precede others by n bits equal their first half times (x^(n + 64) mod P) plus their second half
// times (x^n mod P). Such a product of 64 and 32 bits ends 32 bits short of 128, so both powers are
// 32 lower here.
#include <immintrin.h>

#include "base/crc32c.h"

namespace tundish {
namespace {

// Returns x^n mod P bit-reversed, shifted left by one as a product of reversed numbers requires.
constexpr std::uint64_t power(int n) {
  std::uint32_t rest = 0x80000000u;
  for (int i = 0; i < n; ++i) rest = (rest >> 1) ^ (rest & 1 ? kCastagnoli : 0);
  return std::uint64_t{rest} << 1;
}

// Factors that carry 128 bits over a distance of `bits`: one per 64-bit half.
struct Carry {
  std::uint64_t first, second;
};
constexpr Carry carry_over(int bits) { return {power(bits + 32), power(bits - 32)}; }

template <int kBits>
inline __m512i carried(__m512i from, __m512i to) {
  constexpr Carry k = carry_over(kBits);
  const __m512i factor = _mm512_broadcast_i32x4(
      _mm_set_epi64x(static_cast<long long>(k.second), static_cast<long long>(k.first)));
  return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(from, factor, 0x00),
                                   _mm512_clmulepi64_epi128(from, factor, 0x11), to, 0x96);
}

template <int kBits>
inline __m128i carried(__m128i from, __m128i to) {
  constexpr Carry k = carry_over(kBits);
  const __m128i factor =
      _mm_set_epi64x(static_cast<long long>(k.second), static_cast<long long>(k.first));
  return _mm_ternarylogic_epi64(_mm_clmulepi64_si128(from, factor, 0x00),
                                _mm_clmulepi64_si128(from, factor, 0x11), to, 0x96);
}

}  // namespace

std::uint32_t crc32c_avx512(Bytes bytes, std::uint32_t start) {
  constexpr std::size_t kStep = 256, kAhead = 2048;
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  std::uint64_t crc = ~start;
  if (left >= kStep) {
    __m512i x[4];
    for (int i = 0; i < 4; ++i) x[i] = _mm512_loadu_si512(at + 64 * i);
    x[0] = _mm512_xor_si512(
        x[0], _mm512_zextsi128_si512(_mm_cvtsi64_si128(static_cast<long long>(crc & 0xffffffff))));
    for (at += kStep, left -= kStep; left >= kStep; at += kStep, left -= kStep) {
      for (int i = 0; i < 4; ++i) {
        _mm_prefetch(reinterpret_cast<const char*>(at + kAhead + 64 * i), _MM_HINT_T0);
        x[i] = carried<8 * kStep>(x[i], _mm512_loadu_si512(at + 64 * i));
      }
    }
    const __m512i all = carried<512>(carried<512>(carried<512>(x[0], x[1]), x[2]), x[3]);
    __m128i last = _mm512_castsi512_si128(all);
    last = carried<128>(last, _mm512_extracti32x4_epi32(all, 1));
    last = carried<128>(last, _mm512_extracti32x4_epi32(all, 2));
    last = carried<128>(last, _mm512_extracti32x4_epi32(all, 3));
    crc = _mm_crc32_u64(0, static_cast<std::uint64_t>(_mm_cvtsi128_si64(last)));
    crc = _mm_crc32_u64(crc, static_cast<std::uint64_t>(_mm_extract_epi64(last, 1)));
  }
  for (; left >= 8; left -= 8, at += 8) crc = _mm_crc32_u64(crc, load<std::uint64_t>(at));
  auto narrow = static_cast<std::uint32_t>(crc);
  for (; left > 0; --left, ++at) narrow = _mm_crc32_u8(narrow, static_cast<unsigned char>(*at));
  return ~narrow;
}

}  // namespace tundish
