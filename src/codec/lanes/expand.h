// Expands packed values to whole blocks of coefficients.
#pragma once

#include "base/machine/cpu.h"
#include "codec/lanes/coefficients.h"
#include "codec/lanes/unit.h"

namespace tundish::lanes {

// Writes blocks `from` to `from` + count - 1 of a unit to to[0], to[step], to[2 * step], ...;
// `step` is 1 or -1. Blocks are in natural order. Values that are escapes are undefined.
using ExpandBlocks = void (*)(Block* to, std::ptrdiff_t step, const UnitValues& values, int from,
                              int count);

void expand_blocks_baseline(Block* to, std::ptrdiff_t step, const UnitValues& values, int from,
                            int count);
void expand_blocks_avx2(Block* to, std::ptrdiff_t step, const UnitValues& values, int from,
                        int count);
void expand_blocks_avx512(Block* to, std::ptrdiff_t step, const UnitValues& values, int from,
                          int count);

// Writes the escapes of a unit; block b is at at[b].
using PutEscapes = void (*)(Block* const* at, const UnitValues& values);

void put_escapes_baseline(Block* const* at, const UnitValues& values);
void put_escapes_avx512(Block* const* at, const UnitValues& values);

struct Expand {
  ExpandBlocks blocks;
  PutEscapes escapes;
};

Expand expand_of(Cpu cpu);

// Expands a unit to its place in the image, including escapes.
void expand_unit(Coefficients& out, const UnitValues& values, int unit_x, int unit_y,
                 const Expand& expand);

}  // namespace tundish::lanes
