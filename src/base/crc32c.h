// CRC32C as LevelDB stores it: masked, so that the CRC of data that holds CRCs stays strong.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace tundish {

// Castagnoli, by the CPU's instructions where it has them. `start` continues an earlier sum.
std::uint32_t crc32c(Bytes bytes, std::uint32_t start = 0);
std::uint32_t crc32c_by_table(Bytes bytes, std::uint32_t start = 0);   // for other CPUs
std::uint32_t crc32c_reference(Bytes bytes, std::uint32_t start = 0);  // the twin: bit by bit

inline constexpr std::uint32_t kCastagnoli = 0x82f63b78u;  // the polynomial, reflected

// For CPUs that can; the second needs vpclmulqdq besides Cpu::avx512.
std::uint32_t crc32c_sse(Bytes bytes, std::uint32_t start = 0);
std::uint32_t crc32c_avx512(Bytes bytes, std::uint32_t start = 0);
bool can_multiply_crc32c();

constexpr std::uint32_t mask_crc(std::uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

}  // namespace tundish
