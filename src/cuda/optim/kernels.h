// Kernel launches of an optimizer step. Each launches one kernel; the caller checks for errors.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/optim/gpu_step.h"

namespace tundish::cuda {

void launch_set_gradients(void** table, const GradientSlice& slice, cudaStream_t stream);

// Sums the squares of the gradients and, with `weights`, of the weights, chunk by chunk.
void launch_sums(const GpuStep& step, bool weights, cudaStream_t stream);

// Adds the chunks' sums (with `add`); computes factor, norm and skipping; counts the step and
// computes the groups' values.
void launch_begin(const GpuStep& step, optim::OptimizerKind kind, const GroupSlice& slice, bool add,
                  cudaStream_t stream);

// Computes GpuStep::tensor_values from the chunks' sums.
void launch_tensor_values(const GpuStep& step, optim::OptimizerKind kind, cudaStream_t stream);

// LAMB's first pass: computes the moments and the chunks' sums of weights and updates.
void launch_lamb_moments(const GpuStep& step, cudaStream_t stream);

// Updates weights, states, averages and copies, and clears gradients.
void launch_update(const GpuStep& step, optim::OptimizerKind kind, cudaStream_t stream);

}  // namespace tundish::cuda
