#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "augment/pixels/noise/normal_ops.h"
#include "cuda/augment/mix.h"
#include "cuda/decode/batch_layout.h"

namespace tundish::cuda {
namespace {

constexpr int kThreads = 256;

template <class T>
__device__ T element_of(float value) {
  if constexpr (std::is_same_v<T, __half>) return __float2half_rn(value);
  if constexpr (std::is_same_v<T, __nv_bfloat16>) return __float2bfloat16_rn(value);
  if constexpr (std::is_same_v<T, float>) return value;
}

// The elements of one pixel before mixing.
struct Pixel {
  float value[3];
};

__device__ void erase(Pixel& pixel, int x, int y, const MixTask& task, const StepRange& range) {
  for (std::uint32_t e = range.first; e < range.first + range.count; ++e) {
    const GpuErasure& erasure = task.erasures[e];
    const int row = y - erasure.window.y, column = x - erasure.window.x;
    if (row < 0 || row >= erasure.window.height) continue;
    if (column < 0 || column >= erasure.window.width) continue;
    const auto number =
        static_cast<std::uint64_t>(std::int64_t{row} * erasure.window.width + column);
    const std::uint64_t random = erasure.random ? pixel_bits(erasure.key, number) : 0;
    for (int c = 0; c < 3; ++c) {
      pixel.value[c] = erasure.random ? normal_number(task.normal, channel_bits(random, c))
                                      : __uint_as_float(erasure.bits[c]);
    }
  }
}

__device__ Pixel pixel_of(ImageRef image, int x, int y, const MixTask& task,
                          const float (*table)[256]) {
  const bool decoded = (image & kDecoded) != 0;
  const std::uint32_t number = number_of(image);
  Pixel out{};
  if (decoded && task.errors[number] != kNoError) return out;
  const int from_x = (image & kMirrored) != 0 ? task.width - 1 - x : x;
  const std::uint8_t* levels = (decoded ? task.decoded : task.levels) +
                               3 * ((std::int64_t{number} * task.height + y) * task.width + from_x);
  for (int c = 0; c < 3; ++c) out.value[c] = table[c][levels[c]];
  if (task.erasures) {
    const std::uint32_t range =
        decoded ? static_cast<std::uint32_t>(task.level_count) + number : number;
    erase(out, x, y, task, task.erased[range]);
  }
  return out;
}

// Each thread mixes one pixel at a time. Neighbors in a warp are neighbors in a row.
template <class T>
__global__ void __launch_bounds__(kThreads)
    mix_kernel(const __grid_constant__ MixTask task, std::int64_t pixels) {
  __shared__ float table[3][256];
  for (int i = static_cast<int>(threadIdx.x); i < 3 * 256; i += kThreads) {
    table[i / 256][i % 256] = __uint_as_float(task.table[i]);
  }
  __syncthreads();
  const std::int64_t plane = std::int64_t{task.width} * task.height;
  const std::int64_t step = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < pixels; i += step) {
    const std::int64_t image = i / plane;
    const int place = static_cast<int>(i - image * plane);
    const int y = place / task.width, x = place - y * task.width;
    const GpuMix& mix = task.mixes[image];
    Pixel out;
    if (mix.kind == Mix::Kind::cut) {
      const bool inside = x >= mix.box.x && x < mix.box.x + mix.box.width && y >= mix.box.y &&
                          y < mix.box.y + mix.box.height;
      out = pixel_of(inside ? mix.partner : mix.own, x, y, task, table);
    } else {
      out = pixel_of(mix.own, x, y, task, table);
      if (mix.kind == Mix::Kind::blend) {
        const Pixel other = pixel_of(mix.partner, x, y, task, table);
        for (int c = 0; c < 3; ++c) {  // rounded as blend() does; never fused
          out.value[c] =
              __fadd_rn(__fmul_rn(other.value[c], mix.rest), __fmul_rn(out.value[c], mix.share));
        }
      }
    }
    const int channels = task.channels;
    T* const to =
        static_cast<T*>(task.out) + (task.channels_first ? image * channels * plane + place
                                                         : channels * (image * plane + place));
    const std::int64_t dc = task.channels_first ? plane : 1;
    for (int c = 0; c < channels; ++c) to[c * dc] = element_of<T>(out.value[c]);
  }
}

// Each block writes the label of one image.
__global__ void label_kernel(const __grid_constant__ MixTask task) {
  const GpuMix& mix = task.mixes[blockIdx.x];
  float* const to = task.labels + std::int64_t{blockIdx.x} * task.classes;
  for (int c = static_cast<int>(threadIdx.x); c < task.classes; c += static_cast<int>(blockDim.x)) {
    const float own = c == mix.label ? task.on : task.off;
    const float other = c == mix.partner_label ? task.on : task.off;
    to[c] = __fadd_rn(__fmul_rn(other, mix.rest), __fmul_rn(own, mix.share));
  }
}

template <class T>
void launch(const MixTask& task, cudaStream_t stream) {
  const std::int64_t pixels = std::int64_t{task.width} * task.height * task.count;
  const std::int64_t blocks = (pixels + kThreads - 1) / kThreads;
  // A block with many pixels fills its table only once.
  const auto grid = static_cast<unsigned>(blocks < 4096 ? blocks : 4096);
  mix_kernel<T><<<grid, kThreads, 0, stream>>>(task, pixels);
}

}  // namespace

cudaError_t mix(const MixTask& task, cudaStream_t stream) {
  if (task.count == 0) return cudaSuccess;
  if (task.width > 0 && task.height > 0) {
    if (task.dtype == Dtype::float32) launch<float>(task, stream);
    if (task.dtype == Dtype::float16) launch<__half>(task, stream);
    if (task.dtype == Dtype::bfloat16) launch<__nv_bfloat16>(task, stream);
  }
  if (task.labels) {
    label_kernel<<<static_cast<unsigned>(task.count), kThreads, 0, stream>>>(task);
  }
  return cudaGetLastError();
}

}  // namespace tundish::cuda
