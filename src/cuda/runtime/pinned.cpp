#include "cuda/runtime/pinned.h"

#include <cuda_runtime_api.h>

#include <atomic>
#include <mutex>
#include <set>

namespace tundish::cuda {
namespace {

// Without this, calls from other threads would break a graph recording of the trainer.
class Relaxed {
 public:
  Relaxed() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  Relaxed(const Relaxed&) = delete;
  Relaxed& operator=(const Relaxed&) = delete;
  ~Relaxed() { cudaThreadExchangeStreamCaptureMode(&mode_); }

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

// Device of the last caller of pinned_memory(). Keeps loader threads from using device 0 instead.
std::atomic<int> device{0};

void* lock_pages(std::size_t bytes) {
  const Relaxed relaxed;
  int current = 0;
  void* memory = nullptr;
  if (cudaGetDevice(&current) == cudaSuccess && current != device) cudaSetDevice(device);
  if (cudaHostAlloc(&memory, bytes, cudaHostAllocPortable) == cudaSuccess) return memory;
  (void)cudaGetLastError();  // the null result reports the error; clears the error state
  return nullptr;
}

void unlock_pages(void* memory) {
  const Relaxed relaxed;
  cudaFreeHost(memory);
}

// Memory that could not be locked and must be freed by the plain allocator. Never destroyed: memory
// may be released after static destructors have run.
struct Plain {
  std::mutex mutex;
  std::set<void*> pieces;  // guarded by mutex
};
Plain& plain() {
  static Plain& all = *new Plain;
  return all;
}

void* take(std::size_t bytes) {
  if (void* memory = lock_pages(bytes)) return memory;
  void* memory = kPlainMemory.take(bytes);
  const std::lock_guard lock(plain().mutex);
  if (memory) plain().pieces.insert(memory);
  return memory;
}

void give(void* memory) {
  {
    const std::lock_guard lock(plain().mutex);
    if (plain().pieces.erase(memory) > 0) {
      kPlainMemory.give(memory);
      return;
    }
  }
  unlock_pages(memory);
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
  void* trial = lock_pages(4096);  // the limit on locked memory may forbid it
  if (!trial) {
    why = "the system refused to lock memory (see ulimit -l)";
    return nullptr;
  }
  unlock_pages(trial);
  return &kPinnedMemory;
}

}  // namespace tundish::cuda
