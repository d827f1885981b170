// The weights of Pillow 12's resize along one axis, bit for bit.
//
// Computed in double in Pillow's order of operations, then rounded to 22 fractional bits. The
// weights of an output do not depend on its neighbors, so a window has the same weights as the
// whole line.
#pragma once

#include <cstdint>
#include <vector>

#include "augment/plan.h"
#include "base/machine/cpu.h"

namespace tundish {

// First input and weights of each kept output. The first and the last input both move in one
// direction from output to output.
struct Taps {
  int count = 0;                     // weights per output, padded with zeros
  std::vector<int> first;            // first input of output i
  std::vector<int> used;             // number of inputs of output i, from 1 to count
  std::vector<std::int32_t> weight;  // count per output

  std::vector<double> value;  // work space of make_taps

  int outputs() const { return static_cast<int>(first.size()); }
};

// Computes outputs keep_from .. keep_from + keep - 1 of a line of `in` samples resized to `out`.
// Equal sizes and the nearest filter give a single weight of 1.0, which copies a sample exactly.
void make_taps(Taps& taps, int in, int out, int keep_from, int keep, Filter filter,
               Cpu cpu = tundish::cpu());

// Adapts the taps to a mirrored line of `in` samples; the order of the outputs is unchanged.
void mirror_inputs(Taps& taps, int in);

// Reverses the order of the outputs.
void mirror_outputs(Taps& taps);

}  // namespace tundish
