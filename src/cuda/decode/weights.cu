// Computes Pillow's weights for every axis of every image of a batch: one block of threads each.
//
// A weight with 22 fractional bits is split into three bytes, the highest one signed. The bytes of
// four neighboring taps share a word, as the dot products of output.cu require:
//   word[4 * output + byte]                        the first group, with the first input after
//   word[(3 * group + 1 + byte) * keep + output]   further groups
#include "cuda/decode/axis_output.h"
#include "cuda/decode/kernels.h"
#include "cuda/runtime/runtime.h"

namespace tundish::cuda {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    make_weights_kernel(BatchMemory memory, BatchLayout layout) {
  const auto* images = reinterpret_cast<const ImageTask*>(memory.batch + layout.images_at);
  const ImageTask& image = images[blockIdx.x / 2];
  const AxisTask& axis = image.axis[blockIdx.x % 2];
  std::uint32_t* words = memory.weights + axis.weights;
  for (int place = static_cast<int>(threadIdx.x); place < axis.keep; place += kThreads) {
    const AxisOutput output(axis, image.filter, place);
    words[4 * place + 3] = static_cast<std::uint32_t>(output.first());
    for (int group = 0; group < axis.groups; ++group) {
      std::uint32_t bytes[3] = {};
      for (int k = 0; k < 4; ++k) {
        const auto weight = static_cast<std::uint32_t>(output.weight(4 * group + k));
        for (int b = 0; b < 3; ++b) bytes[b] |= (weight >> (8 * b) & 255) << (8 * k);
      }
      for (int b = 0; b < 3; ++b) {
        words[group == 0 ? 4 * place + b : (3 * group + 1 + b) * axis.keep + place] = bytes[b];
      }
    }
  }
}

}  // namespace

void make_weights(const BatchMemory& memory, const BatchLayout& layout, cudaStream_t stream) {
  if (layout.images == 0) return;
  make_weights_kernel<<<2 * layout.images, kThreads, 0, stream>>>(memory, layout);
  check(cudaGetLastError(), "launch make_weights_kernel");
}

}  // namespace tundish::cuda
