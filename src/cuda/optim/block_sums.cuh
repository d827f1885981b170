// Sums of squares over the threads of a block, in a fixed order.
#pragma once

#include "cuda/optim/quads.cuh"

namespace tundish::cuda {

// Returns the sum over a block's threads, in every thread of the block.
template <int threads>
__device__ double sum_of_block(double mine) {
  __shared__ double sums[threads];
  __syncthreads();  // the previous sum has been read
  sums[threadIdx.x] = mine;
  for (int half = threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (static_cast<int>(threadIdx.x) < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  __syncthreads();
  return sums[0];
}

__device__ inline double squares(const Quad& quad) {
  double sum = 0;
  for (const float value : quad.at) sum += static_cast<double>(value) * static_cast<double>(value);
  return sum;
}

}  // namespace tundish::cuda
