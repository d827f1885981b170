#include "cuda/runtime/runtime.h"

#include <fmt/format.h>

#include "base/error.h"

namespace tundish::cuda {

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();  // clears the error state, so that the next call does not report it
  throw Error(ErrorCode::gpu, {}, fmt::format("{}: {}", what, cudaGetErrorString(status)));
}

void DeviceMemory::reserve(std::size_t bytes) {
  if (bytes <= bytes_) return;
  cudaFree(data_);
  data_ = nullptr;
  bytes_ = 0;
  take(bytes + bytes / 4);
}

void DeviceMemory::take(std::size_t bytes) {
  check(cudaMalloc(&data_, bytes), "take device memory");
  bytes_ = bytes;
}

}  // namespace tundish::cuda
