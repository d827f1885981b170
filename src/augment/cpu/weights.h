// The weights of many outputs of a resized line side by side, once per instruction set. All give
// the same bits. Plain pointers and structs only, as in augment/cpu/passes.h.
#pragma once

#include <cstdint>

#include "augment/filter.h"
#include "base/machine/cpu.h"

namespace tundish {

constexpr int kOutputsTogether = 32;

// Which weights of a line are made: those of the outputs from, from + 1, ...
struct WeightsPlan {
  int from;
  int outputs;
  int count;         // weights of an output; shorter ones end in zeros
  const int* first;  // first input of an output
  const int* used;   // inputs of an output
  double* work;      // kOutputsTogether * count
};

using MakeWeights = void (*)(std::int32_t* weight, const ResizedLine& line,
                             const WeightsPlan& plan);

void make_weights_plain(std::int32_t* weight, const ResizedLine& line, const WeightsPlan& plan);
void make_weights_avx2(std::int32_t* weight, const ResizedLine& line, const WeightsPlan& plan);

MakeWeights make_weights_of(Cpu cpu);

}  // namespace tundish
