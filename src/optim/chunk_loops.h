// The loops over one chunk, once per instruction set. All sets give the same bits.
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

// One chunk, and what a step does to each of its elements beside the optimizer's own formula.
struct ChunkTask {
  const TensorEntry* tensor;
  std::uint64_t begin;
  std::uint32_t elements;
  float gradient_factor;  // scale, clipping, and the sign of `maximize`
  Lerp average;           // towards the new weights
  bool keep_average;      // the average is updated
  bool clear_gradients;
  bool stochastic_rounding;
  std::uint64_t rounding_key;
};

// Sums of squares, of a chunk or a tensor.
struct LambSums {
  double weights = 0, updates = 0;
};

// Sums are over 16 lanes, lane i of elements i, i + 16, ...; then over lanes in order.
struct ChunkLoops {
  double (*gradient_squares)(const ChunkTask&);  // of the gradients as they are
  double (*weight_squares)(const ChunkTask&);
  void (*sgd)(const ChunkTask&, const SgdValues&);
  void (*sgd_momentum)(const ChunkTask&, const SgdValues&);
  void (*adam)(const ChunkTask&, const AdamValues&);
  void (*lion)(const ChunkTask&, const LionValues&);
  void (*lars)(const ChunkTask&, const LarsValues&);
  void (*lars_momentum)(const ChunkTask&, const LarsValues&);
  LambSums (*lamb_moments)(const ChunkTask&, const LambValues&);  // clears gradients
  void (*lamb_weights)(const ChunkTask&, const LambValues&);
  void (*novograd)(const ChunkTask&, const NovoGradValues&);
  // For a tensor that is not updated: its average, and cleared gradients.
  void (*leave)(const ChunkTask&);
};

const ChunkLoops& chunk_loops(Cpu set = cpu());

// Made by update_*.cpp; that of SSE2 runs on every x86-64.
extern const ChunkLoops kChunkLoopsBaseline;
extern const ChunkLoops kChunkLoopsAvx2;
extern const ChunkLoops kChunkLoopsAvx512;

}  // namespace tundish::optim
