// CRC32C in LevelDB's masked form. The mask keeps the CRC strong for data that itself holds CRCs.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace tundish {

// Castagnoli CRC, by CPU instructions where available. `start` continues an earlier checksum.
std::uint32_t crc32c(Bytes bytes, std::uint32_t start = 0);
std::uint32_t crc32c_by_table(Bytes bytes, std::uint32_t start = 0);   // for other CPUs
std::uint32_t crc32c_reference(Bytes bytes, std::uint32_t start = 0);  // reference: bit by bit

inline constexpr std::uint32_t kCastagnoli = 0x82f63b78u;  // the polynomial, reflected

// For capable CPUs: crc32c_avx512() needs Cpu::avx512 and can_multiply_crc32c() (vpclmulqdq).
std::uint32_t crc32c_sse(Bytes bytes, std::uint32_t start = 0);
std::uint32_t crc32c_avx512(Bytes bytes, std::uint32_t start = 0);
bool can_multiply_crc32c();

constexpr std::uint32_t mask_crc(std::uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

}  // namespace tundish
