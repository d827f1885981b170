// Decodes the coded bytes of a unit to values: a reference implementation and one version per
// instruction set. All give the same results for any bytes.
#pragma once

#include "base/bytes.h"
#include "base/machine/cpu.h"
#include "codec/lanes/symbols.h"
#include "codec/lanes/tables.h"
#include "codec/lanes/unit.h"

namespace tundish::lanes {

// Fast decoders read whole registers, so this many bytes after the coded bytes must be readable.
inline constexpr int kReadableBehind = 256;

struct CodedUnit {
  Bytes bytes;
  UnitShape shape;
  int set = 0;  // index of the table set
};

// The fixed part of a unit.
struct UnitHead {
  alignas(64) std::uint32_t state[kLanes];
  bool narrow;  // lanes take no words, however small their states are
  const std::byte* words;
  const std::byte* words_end;  // raw bits follow
  const std::byte* end;
};

// Returns false if the bytes cannot be a unit.
bool read_unit_head(UnitHead& out, Bytes bytes);

// Scratch of a fast decoder for one unit.
struct UnitWork {
  alignas(64) std::uint8_t dense[kMaxBlocks + 64];           // one byte per block that has an octet
  alignas(64) std::uint8_t octet[kOctets][kMaxBlocks + 64];  // masks, one byte per block
  alignas(64) std::uint8_t rice[kMaxValues + 128];           // parameter of each value
  alignas(64) std::uint32_t escaped[kMaxValues / kLanes + 4];  // one bit per value
  alignas(64) std::uint32_t high[kMaxValues + kLanes];         // high bits of the escapes
  std::uint16_t position[kMaxValues + 64];                     // positions of the escapes
  alignas(64) std::uint8_t dc_size[kMaxBlocks + 64];
  std::uint64_t raw[kMaxValues / 64 + kMaxBlocks / 4 + 24];  // signs, then DC bits
};

// Returns false if the bytes are not a unit of that shape; `out` is then undefined.
bool decode_unit_reference(UnitValues& out, const CodedUnit& unit, const Tables& tables);

// Two units in step are faster than one after the other. Bit i of the result: unit i is good.
using DecodeUnits = unsigned (*)(UnitValues* const* out, const CodedUnit* units, int count,
                                 const Tables& tables, UnitWork* works);  // count: 1 or 2

DecodeUnits decode_units_of(Cpu cpu);

// One file each; decode_units_of() returns one that the CPU supports.
unsigned decode_units_reference(UnitValues* const* out, const CodedUnit* units, int count,
                                const Tables& tables, UnitWork* works);
unsigned decode_units_baseline(UnitValues* const* out, const CodedUnit* units, int count,
                               const Tables& tables, UnitWork* works);
unsigned decode_units_avx2(UnitValues* const* out, const CodedUnit* units, int count,
                           const Tables& tables, UnitWork* works);
unsigned decode_units_avx512(UnitValues* const* out, const CodedUnit* units, int count,
                             const Tables& tables, UnitWork* works);

}  // namespace tundish::lanes
