#include "base/crc32c.h"

#include <nmmintrin.h>

#include <array>

#include "base/machine/cpu.h"

namespace tundish {
namespace {

constexpr std::uint32_t one_byte(std::uint32_t crc) {
  for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? kCastagnoli : 0);
  return crc;
}

constexpr auto kTable = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) table[byte] = one_byte(byte);
  return table;
}();

// The instruction has a latency of three cycles but starts every cycle: three parts run at once.
constexpr std::size_t kPart = 512;
constexpr std::size_t kAhead = 2048;

// Maps a checksum to its value after kPart zero bytes: linear, so one table per byte suffices.
constexpr auto kAfterPart = [] {
  std::array<std::array<std::uint32_t, 256>, 4> table{};
  std::array<std::uint32_t, 32> of_bit{};
  for (std::size_t bit = 0; bit < 32; ++bit) {
    std::uint32_t crc = 1u << bit;
    for (std::size_t i = 0; i < kPart; ++i) crc = (crc >> 8) ^ kTable[crc & 0xff];
    of_bit[bit] = crc;
  }
  for (std::size_t place = 0; place < 4; ++place) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      for (std::size_t bit = 0; bit < 8; ++bit) {
        if (byte >> bit & 1) table[place][byte] ^= of_bit[8 * place + bit];
      }
    }
  }
  return table;
}();

std::uint32_t after_part(std::uint32_t crc) {
  return kAfterPart[0][crc & 0xff] ^ kAfterPart[1][crc >> 8 & 0xff] ^
         kAfterPart[2][crc >> 16 & 0xff] ^ kAfterPart[3][crc >> 24];
}

}  // namespace

__attribute__((target("sse4.2"))) std::uint32_t crc32c_sse(Bytes bytes, std::uint32_t start) {
  std::uint64_t crc = ~start;
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 3 * kPart; left -= 3 * kPart, at += 3 * kPart) {
    std::uint64_t second = 0, third = 0;
    for (std::size_t i = 0; i < kPart; i += 8) {
      if (i % 64 == 0) {
        _mm_prefetch(reinterpret_cast<const char*>(at + kAhead + i), _MM_HINT_T0);
        _mm_prefetch(reinterpret_cast<const char*>(at + kAhead + kPart + i), _MM_HINT_T0);
        _mm_prefetch(reinterpret_cast<const char*>(at + kAhead + 2 * kPart + i), _MM_HINT_T0);
      }
      crc = _mm_crc32_u64(crc, load<std::uint64_t>(at + i));
      second = _mm_crc32_u64(second, load<std::uint64_t>(at + kPart + i));
      third = _mm_crc32_u64(third, load<std::uint64_t>(at + 2 * kPart + i));
    }
    const std::uint32_t two =
        after_part(static_cast<std::uint32_t>(crc)) ^ static_cast<std::uint32_t>(second);
    crc = after_part(two) ^ static_cast<std::uint32_t>(third);
  }
  for (; left >= 8; left -= 8, at += 8) crc = _mm_crc32_u64(crc, load<std::uint64_t>(at));
  auto narrow = static_cast<std::uint32_t>(crc);
  for (; left > 0; --left, ++at) narrow = _mm_crc32_u8(narrow, static_cast<unsigned char>(*at));
  return ~narrow;
}

std::uint32_t crc32c_reference(Bytes bytes, std::uint32_t start) {
  std::uint32_t crc = ~start;
  for (const std::byte byte : bytes) crc = one_byte(crc ^ static_cast<std::uint32_t>(byte));
  return ~crc;
}

std::uint32_t crc32c_by_table(Bytes bytes, std::uint32_t start) {
  std::uint32_t crc = ~start;
  for (const std::byte byte : bytes) {
    crc = (crc >> 8) ^ kTable[(crc ^ static_cast<std::uint32_t>(byte)) & 0xff];
  }
  return ~crc;
}

bool can_multiply_crc32c() {
  return best_cpu() == Cpu::avx512 && __builtin_cpu_supports("vpclmulqdq");
}

std::uint32_t crc32c(Bytes bytes, std::uint32_t start) {
  static const bool multiplies = cpu() == Cpu::avx512 && can_multiply_crc32c();
  if (multiplies) return crc32c_avx512(bytes, start);
  if (cpu() >= Cpu::sse) return crc32c_sse(bytes, start);
  return crc32c_by_table(bytes, start);
}

}  // namespace tundish
