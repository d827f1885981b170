// The blocks of one unit in the coder's form: counted by train.h and written by encode.h.
#pragma once

#include <cstdint>

#include "codec/lanes/coefficients.h"
#include "codec/lanes/geometry.h"
#include "codec/lanes/tables.h"
#include "codec/lanes/unit.h"

namespace tundish::lanes {

// The number of blocks in a unit. Depends on the geometry, never on coded bytes.
struct UnitShape {
  int end[kMaxComponents];  // end of each component's blocks, in unit order
  int luma() const { return end[0]; }
  int blocks() const { return end[kMaxComponents - 1]; }
};

UnitShape shape_of(const Geometry& geometry, int unit_x, int unit_y);

struct BlockSymbols {
  std::uint64_t mask = 0;     // bit z: coefficient z of the zigzag is not 0; bit 0 is clear
  std::uint16_t dc_bits = 0;  // DC difference to the previous block, coded as in JPEG
  std::uint8_t dc_size = 0;   // number of bits in dc_bits
  std::uint8_t octets = 0;    // up to the last octet with a non-zero coefficient
  std::uint8_t count = 0;     // number of non-zero coefficients
  std::uint16_t first = 0;    // index of the first non-zero coefficient in UnitSymbols::value

  std::uint8_t start() const { return static_cast<std::uint8_t>(dc_size << 4 | octets); }
  unsigned octet(int i) const { return static_cast<unsigned>(mask >> (8 * i)) & 255u; }
};

struct UnitSymbols {
  UnitShape shape;
  int values = 0;
  BlockSymbols block[kMaxBlocks];
  std::int16_t value[kMaxValues];  // nonzero AC, block by block, in zigzag order
};

// Returns false if a coefficient is out of range (coefficients.h).
bool find_symbols(UnitSymbols& out, const Coefficients& image, int unit_x, int unit_y);

// A non-zero AC coefficient coded with the parameter `rice`.
struct ValueCode {
  int quotient;  // zeros before the one
  unsigned low;  // `rice` bits
  bool escaped;  // true: `high` follows with the unit's escapes
  unsigned high;
};

constexpr ValueCode code_of(int magnitude, int rice) {
  const unsigned rest = static_cast<unsigned>(magnitude - 1);
  const unsigned low = rest & ((1u << rice) - 1);
  const unsigned high = rest >> rice;
  if (static_cast<int>(high) < kRiceLimit[rice] && static_cast<int>(rest) < kRiceEscape[rice]) {
    return {static_cast<int>(high), low, false, 0};
  }
  return {kRiceLimit[rice], low, true, high};
}

}  // namespace tundish::lanes
