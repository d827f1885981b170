#include "cuda/pinned.h"

#include <cuda_runtime_api.h>

namespace tundish::cuda {
namespace {

// Portable: pinned for every device of the process.
constexpr HostAllocator kPinned = {
    [](std::size_t bytes) -> void* {
      void* memory = nullptr;
      return cudaHostAlloc(&memory, bytes, cudaHostAllocPortable) == cudaSuccess ? memory : nullptr;
    },
    [](void* memory) { cudaFreeHost(memory); }};

}  // namespace

const HostAllocator* pinned_memory(std::string& why) {
  int devices = 0;
  cudaError_t status = cudaGetDeviceCount(&devices);
  if (status == cudaSuccess && devices == 0) status = cudaErrorNoDevice;
  if (status != cudaSuccess) {
    why = cudaGetErrorString(status);
    return nullptr;
  }
  void* trial = kPinned.take(4096);  // the limit on locked memory may forbid it
  if (!trial) {
    why = "the system refused to lock memory (see ulimit -l)";
    return nullptr;
  }
  kPinned.give(trial);
  return &kPinned;
}

}  // namespace tundish::cuda
