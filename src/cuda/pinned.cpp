#include "cuda/pinned.h"

#include <cuda_runtime_api.h>

#include <atomic>

namespace tundish::cuda {
namespace {

// While a trainer records a graph, other threads' calls would break the recording without this.
class Relaxed {
 public:
  Relaxed() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  Relaxed(const Relaxed&) = delete;
  Relaxed& operator=(const Relaxed&) = delete;
  ~Relaxed() { cudaThreadExchangeStreamCaptureMode(&mode_); }

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

// Of the thread that asked last. A thread of a loader's would otherwise wake up device 0.
std::atomic<int> device{0};

void* take(std::size_t bytes) {
  const Relaxed relaxed;
  int before = 0;
  void* memory = nullptr;
  if (cudaGetDevice(&before) != cudaSuccess || cudaSetDevice(device) != cudaSuccess) return nullptr;
  const cudaError_t status = cudaHostAlloc(&memory, bytes, cudaHostAllocPortable);
  cudaSetDevice(before);
  return status == cudaSuccess ? memory : nullptr;
}

void give(void* memory) {
  const Relaxed relaxed;
  cudaFreeHost(memory);
}

}  // namespace

const HostAllocator kPinnedMemory = {take, give};

const HostAllocator* pinned_memory(std::string& why) {
  int devices = 0;
  cudaError_t status = cudaGetDeviceCount(&devices);
  if (status == cudaSuccess && devices == 0) status = cudaErrorNoDevice;
  if (status != cudaSuccess) {
    why = cudaGetErrorString(status);
    return nullptr;
  }
  int current = 0;
  if (cudaGetDevice(&current) == cudaSuccess) device = current;
  void* trial = kPinnedMemory.take(4096);  // the limit on locked memory may forbid it
  if (!trial) {
    why = "the system refused to lock memory (see ulimit -l)";
    return nullptr;
  }
  kPinnedMemory.give(trial);
  return &kPinnedMemory;
}

}  // namespace tundish::cuda
