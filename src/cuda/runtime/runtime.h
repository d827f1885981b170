// Error checks for calls of the CUDA runtime, and memory that frees itself.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <utility>

namespace tundish::cuda {

// Throws Error(gpu) with `what` and the reason of the failure.
void check(cudaError_t status, const char* what);

// Device memory. Growing loses the contents and waits for the device.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  DeviceMemory(DeviceMemory&& other) noexcept { *this = std::move(other); }
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~DeviceMemory() { cudaFree(data_); }

  void reserve(std::size_t bytes);  // may take more than requested, so that growing is rare
  void take(std::size_t bytes);     // takes exactly `bytes`; requires that no memory is held

  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  std::size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace tundish::cuda
