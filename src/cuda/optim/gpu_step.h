// What the kernels of an optimizer's step get: plain structs, all pointers to GPU memory.
#pragma once

#include <cstdint>

#include "optim/group.h"
#include "optim/group_values.h"
#include "optim/optimizer_kind.h"
#include "optim/tensor_entry.h"

namespace tundish::cuda {

// A group's numbers in one step. They are made on the GPU: whether a step counts is known there.
struct GpuValues {
  optim::GroupValues derived;
  optim::Group group;  // with the step that is made now
  float sign;          // -1 to maximize
};

// What all blocks of a step share.
struct GpuScalars {
  double factor;      // of every gradient: the scale and the limit of the norm
  std::int32_t skip;  // gradients are not finite: nothing is updated
  std::int32_t unused;
};

// Sums of squares of one chunk.
struct ChunkSums {
  double moved;  // of the gradients, as they are; of LAMB's updates
  double weights;
};

struct GpuStep {
  // The tables.
  const optim::TensorEntry* tensors;
  void* const* gradients;  // one for each tensor; TensorEntry::gradient is not read
  const optim::Chunk* chunks;
  const std::uint32_t* first_chunk;  // of each tensor, and the end
  std::uint32_t tensor_count, chunk_count;
  // What a step finds out.
  GpuScalars* scalars;
  GpuValues* values;
  ChunkSums* chunk_sums;
  float* tensor_values;  // trust ratios, NovoGrad's denominators
  // What it is asked for.
  const float* scale;
  float* found_inf;
  float* norm_out;
  double max_norm;
  std::uint64_t seed;
  optim::Lerp average;
  bool check_finite, look_at_norm, keep_average, clear_gradients, stochastic_rounding;
};

// Groups as kernels get them, by value.
inline constexpr int kGroupsAtOnce = 16;
struct GroupSlice {
  optim::Group groups[kGroupsAtOnce];
  int first, count;
};

// Gradients of tensors [first, first + count), by value: nothing on the host has to live on.
inline constexpr int kGradientsAtOnce = 448;
struct GradientSlice {
  void* gradients[kGradientsAtOnce];
  std::uint32_t first, count;
};

}  // namespace tundish::cuda
