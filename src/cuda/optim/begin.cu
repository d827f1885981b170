// Preparation of a step before the update: sums of squares, the gradient factor, the check for
// finite gradients, the step count and the values derived from it.
#include "cuda/optim/block_sums.cuh"
#include "cuda/optim/kernels.h"
#include "optim/group_values.h"

namespace tundish::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kBeginThreads = 1024;

__global__ void __launch_bounds__(kThreads)
    sums(const __grid_constant__ GpuStep step, bool of_weights) {
  const optim::Chunk chunk = step.chunks[blockIdx.x];
  const optim::TensorEntry tensor = step.tensors[chunk.tensor];
  const void* const gradient = step.gradients[chunk.tensor];
  const bool aligned = is_aligned(tensor, gradient);
  double gradients = 0, weights = 0;
  for (std::uint32_t i = 4 * threadIdx.x; gradient && i < chunk.elements; i += 4 * kThreads) {
    const std::uint32_t left = chunk.elements - i;
    const QuadRange reach{chunk.begin + i, static_cast<int>(left < 4 ? left : 4),
                          aligned && left >= 4};
    gradients += squares(load(gradient, tensor.gradient_type, reach));
    if (of_weights) {
      weights += squares(tensor.master ? load_floats(tensor.master, reach)
                                       : load(tensor.parameter, tensor.parameter_type, reach));
    }
  }
  const double moved = sum_of_block<kThreads>(gradients);
  const double of_all_weights = of_weights ? sum_of_block<kThreads>(weights) : 0;
  if (threadIdx.x == 0) step.chunk_sums[blockIdx.x] = {moved, of_all_weights};
}

// Returns the sum of squares of all gradients, in thread 0.
__device__ double add_chunks(const GpuStep& step) {
  double mine = 0;
  for (std::uint32_t i = threadIdx.x; i < step.chunk_count; i += kBeginThreads) {
    mine += step.chunk_sums[i].moved;
  }
  return sum_of_block<kBeginThreads>(mine);
}

__device__ void decide(const GpuStep& step, double gradient_squares) {
  double factor = step.scale ? 1 / static_cast<double>(*step.scale) : 1;
  if (step.needs_norm) {
    const double norm = ::sqrt(gradient_squares) * factor;
    if (step.norm_out) *step.norm_out = static_cast<float>(norm);
    if (step.found_inf && step.check_finite && !::isfinite(gradient_squares)) *step.found_inf = 1;
    if (step.max_norm > 0) factor = optim::clipped_factor(factor, norm, step.max_norm);
  }
  step.scalars->factor = factor;
  step.scalars->skip = step.found_inf && *step.found_inf != 0;
}

__global__ void __launch_bounds__(kBeginThreads)
    begin(const __grid_constant__ GpuStep step, optim::OptimizerKind kind,
          const __grid_constant__ GroupSlice slice, bool add) {
  if (slice.first == 0) {
    const double all = add ? add_chunks(step) : 0;
    if (threadIdx.x == 0) decide(step, all);
    __syncthreads();
  }
  if (static_cast<int>(threadIdx.x) >= slice.count) return;
  optim::Group group = slice.groups[threadIdx.x];
  if (group.lr_at) group.lr = static_cast<double>(*group.lr_at);
  if (group.step_at) {
    const float made = *group.step_at + (step.scalars->skip ? 0.0f : 1.0f);
    *group.step_at = made;
    group.step = static_cast<std::int64_t>(made);
  }
  step.values[slice.first + static_cast<int>(threadIdx.x)] = {optim::make_values(group, kind),
                                                              group, group.maximize ? -1.0f : 1.0f};
}

__device__ float value_of_tensor(const GpuStep& step, optim::OptimizerKind kind,
                                 const optim::TensorEntry& tensor, const ChunkSums& sums) {
  const GpuValues& values = step.values[tensor.group];
  const double weights = ::sqrt(sums.weights), moved = ::sqrt(sums.moved);
  switch (kind) {
    case optim::OptimizerKind::lars:
      return optim::lars_ratio(values.group, weights, moved * step.scalars->factor);
    case optim::OptimizerKind::lamb:
      return optim::lamb_ratio(values.group, weights, moved);
    case optim::OptimizerKind::novograd:
      *tensor.tensor_state =
          optim::novograd_norm(values.group, *tensor.tensor_state, moved * step.scalars->factor);
      return optim::novograd_denominator(*tensor.tensor_state, values.derived.novograd);
    default:
      return 1.0f;
  }
}

// One warp per tensor.
__global__ void __launch_bounds__(kThreads)
    tensor_values(const __grid_constant__ GpuStep step, optim::OptimizerKind kind) {
  const std::uint32_t lane = threadIdx.x % 32;
  const std::uint32_t number = (blockIdx.x * kThreads + threadIdx.x) / 32;
  if (number >= step.tensor_count || step.scalars->skip || !step.gradients[number]) return;
  ChunkSums sums{0, 0};
  for (std::uint32_t i = step.first_chunk[number] + lane; i < step.first_chunk[number + 1];
       i += 32) {
    sums.moved += step.chunk_sums[i].moved;
    sums.weights += step.chunk_sums[i].weights;
  }
  for (int half = 16; half > 0; half /= 2) {
    sums.moved += __shfl_down_sync(0xffffffffu, sums.moved, half);
    sums.weights += __shfl_down_sync(0xffffffffu, sums.weights, half);
  }
  const optim::TensorEntry tensor = step.tensors[number];
  if (lane == 0 && tensor.count != 0) {
    step.tensor_values[number] = value_of_tensor(step, kind, tensor, sums);
  }
}

__global__ void set_gradients(void** table, const __grid_constant__ GradientSlice slice) {
  for (std::uint32_t i = threadIdx.x; i < slice.count; i += blockDim.x) {
    table[slice.first + i] = slice.gradients[i];
  }
}

}  // namespace

void launch_set_gradients(void** table, const GradientSlice& slice, cudaStream_t stream) {
  set_gradients<<<1, kGradientsAtOnce, 0, stream>>>(table, slice);
}

void launch_sums(const GpuStep& step, bool weights, cudaStream_t stream) {
  if (step.chunk_count == 0) return;
  sums<<<step.chunk_count, kThreads, 0, stream>>>(step, weights);
}

void launch_tensor_values(const GpuStep& step, optim::OptimizerKind kind, cudaStream_t stream) {
  const std::uint32_t blocks = (step.tensor_count * 32 + kThreads - 1) / kThreads;
  tensor_values<<<blocks, kThreads, 0, stream>>>(step, kind);
}

void launch_begin(const GpuStep& step, optim::OptimizerKind kind, const GroupSlice& slice, bool add,
                  cudaStream_t stream) {
  begin<<<1, kBeginThreads, 0, stream>>>(step, kind, slice, add);
}

}  // namespace tundish::cuda
