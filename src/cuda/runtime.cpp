#include "cuda/runtime.h"

#include <fmt/format.h>

#include "core/error.h"

namespace tundish::cuda {

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  throw Error(ErrorCode::gpu, {}, fmt::format("{}: {}", what, cudaGetErrorString(status)));
}

void DeviceMemory::reserve(std::size_t bytes) {
  if (bytes <= bytes_) return;
  cudaFree(data_);
  data_ = nullptr;
  bytes_ = 0;
  const std::size_t more = bytes + bytes / 8;
  check(cudaMalloc(&data_, more), "take device memory");
  bytes_ = more;
}

}  // namespace tundish::cuda
