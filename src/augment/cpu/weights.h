// Computes the weights of many outputs of a resized line at once, for each instruction set. All
// give the same bits. Uses plain pointers and structs only, as explained in augment/cpu/passes.h.
#pragma once

#include <cstdint>

#include "augment/filter.h"
#include "base/machine/cpu.h"

namespace tundish {

constexpr int kOutputsTogether = 32;

// The outputs whose weights are computed: from, from + 1, ..., from + outputs - 1.
struct WeightsPlan {
  int from;
  int outputs;
  int count;         // weights per output, padded with zeros
  const int* first;  // first input of each output
  const int* used;   // number of inputs of each output
  double* work;      // kOutputsTogether * count numbers
};

using MakeWeights = void (*)(std::int32_t* weight, const ResizedLine& line,
                             const WeightsPlan& plan);

void make_weights_baseline(std::int32_t* weight, const ResizedLine& line, const WeightsPlan& plan);
void make_weights_avx2(std::int32_t* weight, const ResizedLine& line, const WeightsPlan& plan);

MakeWeights make_weights_of(Cpu cpu);

}  // namespace tundish
