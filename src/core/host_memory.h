// Memory for pixels: aligned to a cache line, grown when asked, otherwise kept.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <utility>

#include "core/error.h"

namespace tundish {

class HostMemory {
 public:
  static constexpr std::size_t kAlignment = 64;

  HostMemory() = default;
  HostMemory(HostMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  HostMemory& operator=(HostMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~HostMemory() { std::free(data_); }

  // At least this many bytes; what was in it is lost when it has to grow. Throws Error(no_memory).
  void reserve(std::size_t bytes) {
    if (bytes <= bytes_) return;
    std::free(std::exchange(data_, nullptr));
    bytes_ = 0;
    const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    data_ = static_cast<std::byte*>(std::aligned_alloc(kAlignment, rounded));
    if (!data_) {
      throw Error(ErrorCode::no_memory, {}, with_commas(rounded) + " bytes for a batch");
    }
    bytes_ = rounded;
  }

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace tundish
