// Sets the CUDA runtime's state of a thread for the time of a call, and restores it.
#pragma once

#include <cuda_runtime_api.h>

namespace tundish::cuda {

// The current device belongs to the caller. A device that is current already is not set again,
// since restoring another one may create a context on it. A trainer may record a graph on another
// stream meanwhile: without "relaxed", allocating memory here would break that recording.
class OnDevice {
 public:
  explicit OnDevice(int device) {
    cudaThreadExchangeStreamCaptureMode(&mode_);
    changed_ = cudaGetDevice(&before_) == cudaSuccess && before_ != device;
    if (changed_) cudaSetDevice(device);
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  ~OnDevice() {
    if (changed_) cudaSetDevice(before_);
    cudaThreadExchangeStreamCaptureMode(&mode_);
  }

 private:
  int before_ = 0;
  bool changed_ = false;
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

}  // namespace tundish::cuda
