// Sets the calling thread's CUDA runtime state for the duration of a call, then restores it.
#pragma once

#include <cuda_runtime_api.h>

namespace tundish::cuda {

// Sets the current device. A device that is already current is not set again, because restoring
// another device may create a context there. A trainer may record a graph on another stream; unless
// the mode is "relaxed", allocating memory here would break that recording.
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
