// Copies to memory that this processor will not read soon, such as a GPU's staging buffer. The
// stores bypass the caches, which avoids reading the old lines first.
#pragma once

#include <emmintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tundish {

// Like memcpy; fastest if `to` is a multiple of 64. Call finish_stream_copies() before another
// thread or device reads the copy.
inline void stream_copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  constexpr std::size_t kLine = 64, kAhead = 2048;
  std::size_t at = 0;
  if (reinterpret_cast<std::uintptr_t>(to) % sizeof(__m128i) == 0) {
    for (; at + kLine <= bytes; at += kLine) {
      _mm_prefetch(reinterpret_cast<const char*>(from + at + kAhead), _MM_HINT_T1);
      const auto* source = reinterpret_cast<const __m128i*>(from + at);
      auto* target = reinterpret_cast<__m128i*>(to + at);
      const __m128i a = _mm_loadu_si128(source), b = _mm_loadu_si128(source + 1);
      const __m128i c = _mm_loadu_si128(source + 2), d = _mm_loadu_si128(source + 3);
      _mm_stream_si128(target, a);
      _mm_stream_si128(target + 1, b);
      _mm_stream_si128(target + 2, c);
      _mm_stream_si128(target + 3, d);
    }
  }
  std::memcpy(to + at, from + at, bytes - at);
}

inline void finish_stream_copies() { _mm_sfence(); }

}  // namespace tundish
