// The loops over one chunk, compiled once per instruction set. All sets produce the same bits.
#pragma once

#include "base/machine/cpu.h"
#include "optim/arithmetic/adam.h"
#include "optim/arithmetic/lamb.h"
#include "optim/arithmetic/lars.h"
#include "optim/arithmetic/lion.h"
#include "optim/arithmetic/novograd.h"
#include "optim/arithmetic/sgd.h"
#include "optim/tensor_entry.h"

namespace tundish::optim {

// One chunk, and the operations a step applies to each element besides the optimizer's formula.
struct ChunkTask {
  const TensorEntry* tensor;
  std::uint64_t begin;
  std::uint32_t elements;
  float gradient_factor;  // scale, clipping and the sign for `maximize`
  Lerp average;           // moves the average toward the new weights
  bool keep_average;      // true if the average is updated
  bool clear_gradients;
  bool stochastic_rounding;
  std::uint64_t rounding_key;
};

// Sums of squares over a chunk or a tensor.
struct LambSums {
  double weights = 0, updates = 0;
};

// A sum has 16 lanes: lane i adds elements i, i + 16, ... The lanes are then added in order.
struct ChunkLoops {
  double (*gradient_squares)(const ChunkTask&);  // squares of the unscaled gradients
  double (*weight_squares)(const ChunkTask&);
  void (*sgd)(const ChunkTask&, const SgdValues&);
  void (*sgd_momentum)(const ChunkTask&, const SgdValues&);
  void (*adam)(const ChunkTask&, const AdamValues&);
  void (*lion)(const ChunkTask&, const LionValues&);
  void (*lars)(const ChunkTask&, const LarsValues&);
  void (*lars_momentum)(const ChunkTask&, const LarsValues&);
  LambSums (*lamb_moments)(const ChunkTask&, const LambValues&);  // also clears the gradients
  void (*lamb_weights)(const ChunkTask&, const LambValues&);
  void (*novograd)(const ChunkTask&, const NovoGradValues&);
  // Updates the average and clears the gradients of a tensor that is not updated.
  void (*leave)(const ChunkTask&);
};

// Defined in update_*.cpp. The baseline uses SSE2 and runs on every x86-64 CPU.
extern const ChunkLoops kChunkLoopsBaseline;
extern const ChunkLoops kChunkLoopsAvx2;
extern const ChunkLoops kChunkLoopsAvx512;

inline const ChunkLoops& chunk_loops(Cpu set = cpu()) {
  if (set == Cpu::avx512) return kChunkLoopsAvx512;
  if (set == Cpu::avx2) return kChunkLoopsAvx2;
  return kChunkLoopsBaseline;
}

}  // namespace tundish::optim
