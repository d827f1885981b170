// A unit between entropy decoding and pixels: the nonzero coefficients of each block, and
// their values, packed.
#pragma once

#include <cstdint>

#include "codec/lanes/geometry.h"

namespace tundish::lanes {

inline constexpr int kMaxValues = kMaxBlocks * 63;

// A value that does not fit into 8 bits.
struct Escape {
  std::uint16_t position;  // index into UnitValues::value
  std::int16_t value;
};

// Blocks are stored by component, each in the order of place_of(). After the last value, mask and
// start there is room for whole registers, with undefined content.
struct UnitValues {
  int blocks = 0;
  int values = 0;
  int escapes = 0;
  alignas(64) std::uint64_t
      mask[kMaxBlocks + 8];  // bit z: coefficient z of the zigzag is not 0; bit 0 is clear
  alignas(64) std::int16_t dc[kMaxBlocks + 32];      // sums of the coded differences
  alignas(64) std::uint16_t start[kMaxBlocks + 32];  // first of block b; start[blocks] = values
  alignas(64) std::int8_t value[kMaxValues + 128];   // AC, in zigzag order; arbitrary for an escape
  Escape escape[kMaxValues + 16];                    // in order of position; ends with 65535
};

}  // namespace tundish::lanes
