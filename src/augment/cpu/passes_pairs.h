// Code shared by the SSE and AVX2 passes: taps in pairs, for pmaddwd.
//
// A weight is split, w = high * 2048 + low, so that both parts fit 16 bits; a pair is the dword
// of two neighboring weights. A slot holds two rows; sample i is a dword of two 16-bit levels,
// one per row. Compiled without special instruction sets.
#pragma once

#include "augment/cpu/passes.h"

namespace tundish {

struct Pair {
  std::uint32_t high, low;
};

// Pairs the weights a and b; b belongs to the later input.
Pair make_pair(std::int32_t a, std::int32_t b);

// `stride` pairs per output, one for each slot that the taps touch.
struct PairTableY {
  int stride;
  const int* slot;   // first slot of each output
  const int* slots;  // number of slots of each output
  const Pair* pair;
};

std::size_t pair_table_y_bytes(const TapsView& taps);
void make_pair_table_y(void* table, const TapsView& taps);

}  // namespace tundish
