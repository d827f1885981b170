// The launches of an optimizer's step. Each is one kernel; errors are the caller's to look for.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/optim/gpu_step.h"

namespace tundish::cuda {

void launch_set_gradients(void** table, const GradientSlice& slice, cudaStream_t stream);

// Sums of squares of the gradients, and with `weights` of the weights, chunk by chunk.
void launch_sums(const GpuStep& step, bool weights, cudaStream_t stream);

// Adds the chunks' sums (with `add`); factor, norm, skipping; counts the step and makes the groups'
// values.
void launch_begin(const GpuStep& step, optim::OptimizerKind kind, const GroupSlice& slice, bool add,
                  cudaStream_t stream);

// GpuStep::tensor_values, from the chunks' sums.
void launch_tensor_values(const GpuStep& step, optim::OptimizerKind kind, cudaStream_t stream);

// LAMB's first pass: the moments, and the chunks' sums of weights and updates.
void launch_lamb_moments(const GpuStep& step, cudaStream_t stream);

// Weights, states, averages, copies, cleared gradients.
void launch_update(const GpuStep& step, optim::OptimizerKind kind, cudaStream_t stream);

}  // namespace tundish::cuda
