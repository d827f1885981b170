// The weights of Pillow 12's resize along one axis, bit for bit.
//
// Computed in double in Pillow's order of operations, then rounded to 22 fractional bits. The
// weights of an output do not depend on its neighbors, so those of a window are those of the
// whole line.
#pragma once

#include <cstdint>
#include <vector>

#include "augment/plan.h"
#include "base/machine/cpu.h"

namespace tundish {

// For each kept output: the first input it needs, and its weights. Both ends of the inputs move
// in one direction from output to output.
struct Taps {
  int count = 0;                     // weights per output; shorter ones end in zeros
  std::vector<int> first;            // first input of output i
  std::vector<int> used;             // number of inputs of output i, from 1 to count
  std::vector<std::int32_t> weight;  // count per output

  std::vector<double> value;  // work space of make_taps

  int outputs() const { return static_cast<int>(first.size()); }
};

// Outputs keep_from .. keep_from + keep - 1 of a line of `in` samples resized to `out`.
// Equal sizes and the nearest filter give one weight of 1.0, which copies a sample exactly.
void make_taps(Taps& taps, int in, int out, int keep_from, int keep, Filter filter,
               Cpu cpu = tundish::cpu());

// The taps of the mirrored line of `in` samples: the outputs stay in their order.
void mirror_inputs(Taps& taps, int in);

// Output 0 becomes the last one.
void mirror_outputs(Taps& taps);

}  // namespace tundish
