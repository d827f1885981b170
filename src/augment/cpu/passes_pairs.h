// What the SSE and AVX2 passes share: taps in pairs, for pmaddwd.
//
// A weight is split, w = high * 2048 + low, so that both parts fit 16 bits; a pair is the dword
// of two neighboring weights. A slot holds two rows; sample i is a dword of two 16-bit levels,
// one per row. Compiled for no instruction set in particular.
#pragma once

#include "augment/cpu/passes.h"

namespace tundish {

struct Pair {
  std::uint32_t high, low;
};

// Weights a and b of a pair; b is the one of the later input.
Pair make_pair(std::int32_t a, std::int32_t b);

// Per output `stride` pairs, one for each slot that the taps touch.
struct PairTableY {
  int stride;
  const int* slot;   // first slot of an output
  const int* slots;  // slots of an output
  const Pair* pair;
};

std::size_t pair_table_y_bytes(const TapsView& taps);
void make_pair_table_y(void* table, const TapsView& taps);

}  // namespace tundish
