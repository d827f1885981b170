// What a thread changes of the CUDA runtime's state for the time of a call, and puts back.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/runtime.h"

namespace tundish::cuda {

// The current device is another one's business. And a trainer may record a graph on another
// stream meanwhile: without "relaxed", taking memory here would break its recording.
class OnDevice {
 public:
  explicit OnDevice(int device) {
    check(cudaGetDevice(&before_), "ask for the current device");
    check(cudaSetDevice(device), "choose the device");
    check(cudaThreadExchangeStreamCaptureMode(&mode_), "allow calls while a graph is recorded");
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  ~OnDevice() {
    cudaThreadExchangeStreamCaptureMode(&mode_);
    cudaSetDevice(before_);
  }

 private:
  int before_ = 0;
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

}  // namespace tundish::cuda
