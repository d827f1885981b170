// Copies a few kilobytes between places of any alignment. From 2 KB on, memcpy uses `rep movsb`,
// which is several times slower on AMD processors if source and target are aligned differently.
// Values inside a record are never aligned like their target.
#pragma once

#include <emmintrin.h>

#include <vector>

#include "base/bytes.h"

namespace tundish {

// Same contract as memcpy.
inline void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
  constexpr std::size_t kAtOnce = 64, kMost = 1 << 18;  // larger copies are bound by memory
  std::size_t at = 0;
  if (bytes <= kMost) {
    for (; at + kAtOnce <= bytes; at += kAtOnce) {
      const auto* source = reinterpret_cast<const __m128i*>(from + at);
      auto* target = reinterpret_cast<__m128i*>(to + at);
      const __m128i a = _mm_loadu_si128(source), b = _mm_loadu_si128(source + 1);
      const __m128i c = _mm_loadu_si128(source + 2), d = _mm_loadu_si128(source + 3);
      _mm_storeu_si128(target, a);
      _mm_storeu_si128(target + 1, b);
      _mm_storeu_si128(target + 2, c);
      _mm_storeu_si128(target + 3, d);
    }
  }
  if (at < bytes) std::memcpy(to + at, from + at, bytes - at);
}

inline void append_bytes(std::vector<std::byte>& out, Bytes bytes) {
  const std::size_t before = out.size();
  out.resize(before + bytes.size());
  copy_bytes(out.data() + before, bytes.data(), bytes.size());
}

}  // namespace tundish
