// Double-buffered device memory for uploads: one batch is copied, on its own stream, while the
// kernels of the previous batch run.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>

#include "cuda/runtime/runtime.h"

namespace tundish::cuda {

class UploadBuffers {
 public:
  struct Batch {
    DeviceMemory coded, levels, remaining;
    cudaEvent_t copied = nullptr;  // recorded on the copy stream
    cudaEvent_t used = nullptr;    // recorded after the last kernel that reads the buffers
  };

  UploadBuffers() = default;
  UploadBuffers(const UploadBuffers&) = delete;
  UploadBuffers& operator=(const UploadBuffers&) = delete;
  // Requires that the device is current and the streams are idle.
  ~UploadBuffers() {
    for (const Batch& one : batches_) {
      if (one.copied) cudaEventDestroy(one.copied);
      if (one.used) cudaEventDestroy(one.used);
    }
    if (copies_) cudaStreamDestroy(copies_);
  }

  // Called once, before all other methods. `kernels` is the stream of the kernels.
  void make(cudaStream_t kernels) {
    kernels_ = kernels;
    check(cudaStreamCreateWithFlags(&copies_, cudaStreamNonBlocking), "make a stream");
    for (Batch& one : batches_) {
      check(cudaEventCreateWithFlags(&one.copied, cudaEventDisableTiming), "make an event");
      check(cudaEventCreateWithFlags(&one.used, cudaEventDisableTiming), "make an event");
    }
  }

  Batch& now() { return batches_[turn_ % batches_.size()]; }

  // Call order per batch: begin(), copy_up() to now(), end(), kernels, used().
  void begin() {
    ++turn_;
    check(cudaStreamWaitEvent(copies_, now().used), "order the work");
  }
  void copy_up(std::byte* to, const std::byte* from, std::size_t bytes) const {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, copies_), "copy a batch");
  }
  void end() {
    check(cudaEventRecord(now().copied, copies_), "record an event");
    check(cudaStreamWaitEvent(kernels_, now().copied), "order the work");
  }
  void used() { check(cudaEventRecord(now().used, kernels_), "record an event"); }

  void synchronize() const { cudaStreamSynchronize(copies_); }

 private:
  std::array<Batch, 2> batches_;
  std::size_t turn_ = 0;
  cudaStream_t kernels_ = nullptr, copies_ = nullptr;
};

}  // namespace tundish::cuda
