#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "augment/pixels/noise/normal_ops.h"
#include "cuda/augment/finish.h"
#include "cuda/decode/batch_layout.h"

namespace tundish::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kGroup = 4;  // pixels of a row per thread

// Returns the bits of a number in the batch's type, as element_bits() does.
template <class T>
__device__ T bits_of(float value, Dtype dtype) {
  if constexpr (sizeof(T) == 4) return __float_as_uint(value);
  if constexpr (sizeof(T) == 2) {
    return dtype == Dtype::float16 ? __half_as_ushort(__float2half_rn(value))
                                   : __bfloat16_as_ushort(__float2bfloat16_rn(value));
  }
  return static_cast<T>(value);  // only for levels, which have no erased elements
}

// Overwrites the erased ones among `pixels` pixels from (x, y) on.
template <class T>
__device__ void erase(T (*element)[3], int pixels, int x, int y, const FinishTask& task,
                      const StepRange& range) {
  for (std::uint32_t e = range.first; e < range.first + range.count; ++e) {
    const GpuErasure& erasure = task.erasures[e];
    const int row = y - erasure.window.y;
    if (row < 0 || row >= erasure.window.height) continue;
    for (int p = 0; p < pixels; ++p) {
      const int column = x + p - erasure.window.x;
      if (column < 0 || column >= erasure.window.width) continue;
      const auto number =
          static_cast<std::uint64_t>(std::int64_t{row} * erasure.window.width + column);
      const std::uint64_t random = erasure.random ? pixel_bits(erasure.key, number) : 0;
      for (int c = 0; c < 3; ++c) {
        element[p][c] =
            erasure.random
                ? bits_of<T>(normal_number(task.normal, channel_bits(random, c)), task.dtype)
                : static_cast<T>(erasure.bits[c]);
      }
    }
  }
}

// Each thread finishes four pixels of a row. If the width is a multiple of four, every read and
// write covers a whole word.
template <class T, bool kChannelsFirst, bool kWhole>
__global__ void __launch_bounds__(kThreads)
    finish_kernel(const __grid_constant__ FinishTask task, std::int64_t groups) {
  const std::uint8_t* __restrict__ levels = task.levels;
  const std::uint32_t* __restrict__ table = task.table;
  T* __restrict__ out = static_cast<T*>(task.out);
  const int width = task.width, height = task.height;
  __shared__ T value[3][256];
  for (int i = static_cast<int>(threadIdx.x); i < 3 * 256; i += kThreads) {
    value[i / 256][i % 256] = static_cast<T>(table[i]);
  }
  __syncthreads();

  const int per_row = (width + kGroup - 1) / kGroup;
  const std::int64_t step = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t g = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; g < groups; g += step) {
    const std::int64_t row = g / per_row;  // counted over all images
    const std::int64_t image = row / height;
    const int x = static_cast<int>(g - row * per_row) * kGroup;
    const int pixels = kWhole ? kGroup : min(kGroup, width - x);
    const Target target = task.targets[image];
    const bool good = !task.errors || task.errors[image] == kNoError;
    const bool mirrored = (target & kMirrored) != 0;
    const std::int64_t to_image = target & ~kMirrored;
    const std::int64_t y = row - image * height;
    const int from_x = mirrored ? width - x - pixels : x;  // the mirrored position
    const std::uint8_t* from = levels + (row * width + from_x) * 3;

    std::uint8_t in[3 * kGroup];
    if constexpr (kWhole) {
      const auto* words = reinterpret_cast<const std::uint32_t*>(from);
      const std::uint32_t word[3] = {words[0], words[1], words[2]};
      for (int i = 0; i < 3 * kGroup; ++i) {
        in[i] = static_cast<std::uint8_t>(word[i / 4] >> (8 * (i % 4)));
      }
    } else {
      for (int i = 0; i < 3 * kGroup; ++i) in[i] = i < 3 * pixels ? from[i] : 0;
    }

    T element[kGroup][3];
#pragma unroll
    for (int p = 0; p < kGroup; ++p) {
      // A mirrored group is read from its other end; with kWhole, `pixels` is the constant kGroup.
#pragma unroll
      for (int c = 0; c < 3; ++c) {
        const int straight = 3 * p + c;
        const int back = kWhole ? 3 * (kGroup - 1 - p) + c : 3 * max(pixels - 1 - p, 0) + c;
        element[p][c] = good ? value[c][mirrored ? in[back] : in[straight]] : T{0};
      }
    }

    if (task.erased && good) {
      erase(element, pixels, x, static_cast<int>(y), task, task.erased[image]);
    }

    if (task.channels == 1) {
      T* to = out + (to_image * height + y) * width + x;
      for (int p = 0; p < pixels; ++p) to[p] = element[p][0];
      continue;
    }
    if constexpr (kChannelsFirst) {
      const std::int64_t plane = std::int64_t{width} * height;
      T* to = out + to_image * 3 * plane + y * width + x;
#pragma unroll
      for (int c = 0; c < 3; ++c) {
        if constexpr (kWhole) {
          struct alignas(kGroup * sizeof(T)) Whole {
            T e[kGroup];
          };
          *reinterpret_cast<Whole*>(to + c * plane) = {element[0][c], element[1][c], element[2][c],
                                                       element[3][c]};
        } else {
          for (int p = 0; p < pixels; ++p) to[c * plane + p] = element[p][c];
        }
      }
    } else {
      T* to = out + ((to_image * height + y) * width + x) * 3;
      if constexpr (kWhole) {
        struct alignas(kGroup * sizeof(T)) Whole {
          T e[kGroup];
        };
        const T* all = &element[0][0];
#pragma unroll
        for (int i = 0; i < 3; ++i) {
          reinterpret_cast<Whole*>(to)[i] = {all[4 * i], all[4 * i + 1], all[4 * i + 2],
                                             all[4 * i + 3]};
        }
      } else {
        for (int p = 0; p < pixels; ++p) {
          for (int c = 0; c < 3; ++c) to[3 * p + c] = element[p][c];
        }
      }
    }
  }
}

template <class T, bool kChannelsFirst>
void launch(const FinishTask& task, cudaStream_t stream) {
  const std::int64_t per_row = (task.width + kGroup - 1) / kGroup;
  const std::int64_t groups = per_row * task.height * task.count;
  const std::int64_t blocks = (groups + kThreads - 1) / kThreads;
  // A block with many groups fills its table only once; 4096 blocks are enough for the processors
  // of any GPU.
  const auto grid = static_cast<unsigned>(blocks < 4096 ? blocks : 4096);
  const auto kernel = task.width % kGroup == 0 ? finish_kernel<T, kChannelsFirst, true>
                                               : finish_kernel<T, kChannelsFirst, false>;
  kernel<<<grid, kThreads, 0, stream>>>(task, groups);
}

template <class T>
void launch(const FinishTask& task, cudaStream_t stream) {
  task.channels_first ? launch<T, true>(task, stream) : launch<T, false>(task, stream);
}

}  // namespace

cudaError_t finish(const FinishTask& task, cudaStream_t stream) {
  if (task.count == 0 || task.width == 0 || task.height == 0) return cudaSuccess;
  switch (dtype_bytes(task.dtype)) {
    case 1:
      launch<std::uint8_t>(task, stream);
      break;
    case 2:
      launch<std::uint16_t>(task, stream);
      break;
    default:
      launch<std::uint32_t>(task, stream);
      break;
  }
  return cudaGetLastError();
}

}  // namespace tundish::cuda
