#include "cuda/decode/gather.h"
#include "cuda/runtime/runtime.h"

namespace tundish::cuda {
namespace {

constexpr int kThreads = 128;
constexpr std::uint32_t kAlignWords = kCodedAlign / 2;

// One block of threads per piece and the gap after the piece, because readers look ahead. One more
// block writes the slack. Records begin at any even byte, so two bytes are the largest unit that is
// always aligned.
__global__ void __launch_bounds__(kThreads)
    gather_kernel(std::byte* __restrict__ batch, BatchLayout layout,
                  const std::byte* __restrict__ records) {
  if (blockIdx.x == layout.pieces) {
    for (std::uint64_t i = layout.coded_end + threadIdx.x; i < layout.units_at; i += kThreads) {
      batch[i] = std::byte{0};
    }
    return;
  }
  const Piece piece = reinterpret_cast<const Piece*>(batch + layout.pieces_at)[blockIdx.x];
  const auto* from = reinterpret_cast<const std::uint16_t*>(records + piece.from);
  auto* to = reinterpret_cast<std::uint16_t*>(batch + piece.to);
  const std::uint32_t words = piece.length / 2;
  const std::uint32_t end = (words + kAlignWords - 1) / kAlignWords * kAlignWords;
  for (std::uint32_t i = threadIdx.x; i < end; i += kThreads) to[i] = i < words ? from[i] : 0;
}

}  // namespace

void gather_on_gpu(std::byte* batch, const BatchLayout& layout, const std::byte* records,
                   cudaStream_t stream) {
  gather_kernel<<<layout.pieces + 1, kThreads, 0, stream>>>(batch, layout, records);
  check(cudaGetLastError(), "gather units");
}

}  // namespace tundish::cuda
