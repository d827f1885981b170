// Data that the kernels of an optimizer step receive: plain structs; all pointers to GPU memory.
#pragma once

#include <cstdint>

#include "optim/group.h"
#include "optim/group_values.h"
#include "optim/optimizer_kind.h"
#include "optim/tensor_entry.h"

namespace tundish::cuda {

// A group's values in one step. Computed on the GPU, which decides whether the step counts.
struct GpuValues {
  optim::GroupValues derived;
  optim::Group group;  // with the number of the current step
  float sign;          // -1 to maximize, otherwise 1
};

// Values shared by all blocks of a step.
struct GpuScalars {
  double factor;      // for every gradient: scale and norm limit
  std::int32_t skip;  // nonzero: gradients are not finite, nothing is updated
  std::int32_t unused;
};

// Sums of squares over one chunk.
struct ChunkSums {
  double moved;  // sum over the unscaled gradients, or over LAMB's updates
  double weights;
};

struct GpuStep {
  // Tables.
  const optim::TensorEntry* tensors;
  void* const* gradients;  // one per tensor; replaces TensorEntry::gradient
  const optim::Chunk* chunks;
  const std::uint32_t* first_chunk;  // first chunk of each tensor, then the total
  std::uint32_t tensor_count, chunk_count;
  // Results of the step.
  GpuScalars* scalars;
  GpuValues* values;
  ChunkSums* chunk_sums;
  float* tensor_values;  // trust ratios, or NovoGrad's denominators
  // Options of the step.
  const float* scale;
  float* found_inf;
  float* norm_out;
  double max_norm;
  std::uint64_t seed;
  optim::Lerp average;
  bool check_finite, needs_norm, keep_average, clear_gradients, stochastic_rounding;
};

// Groups passed to a kernel by value.
inline constexpr int kGroupsAtOnce = 16;
struct GroupSlice {
  optim::Group groups[kGroupsAtOnce];
  int first, count;
};

// Gradients of tensors [first, first + count), by value: no host memory has to outlive the call.
inline constexpr int kGradientsAtOnce = 448;
struct GradientSlice {
  void* gradients[kGradientsAtOnce];
  std::uint32_t first, count;
};

}  // namespace tundish::cuda
