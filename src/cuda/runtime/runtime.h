// Calls of the CUDA runtime that may fail, and memory that frees itself.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <utility>

namespace tundish::cuda {

// Throws Error(gpu) with what was tried and why it failed.
void check(cudaError_t status, const char* what);

// Device memory. What was in it is lost when it grows; growing waits for the device.
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

  void reserve(std::size_t bytes);  // takes more than asked for, so that it grows rarely
  void take(std::size_t bytes);     // exactly; not when it has memory already

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
