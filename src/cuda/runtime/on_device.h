// What a thread changes of the CUDA runtime's state for the time of a call, and puts back.
#pragma once

#include <cuda_runtime_api.h>

namespace tundish::cuda {

// The current device is another one's business; a device that is current already is not touched,
// since putting another one back may wake it up. And a trainer may record a graph on another stream
// meanwhile: without "relaxed", taking and giving memory here would break its recording.
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
