// Memory for pixels: aligned to a cache line, grown when asked, otherwise kept.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <utility>

#include "core/error.h"

namespace tundish {

// Where the memory comes from. Page-locked memory reaches this layer as such a pair of functions.
struct HostAllocator {
  void* (*take)(std::size_t bytes);  // nullptr when there is none
  void (*give)(void* memory);
};

inline constexpr std::size_t kHostAlignment = 64;

inline constexpr HostAllocator kPlainMemory = {
    [](std::size_t bytes) -> void* { return std::aligned_alloc(kHostAlignment, bytes); },
    [](void* memory) { std::free(memory); }};

class HostMemory {
 public:
  HostMemory() = default;
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;
  ~HostMemory() { release(); }

  // At least this many bytes; what was in it is lost when it has to grow. Throws Error(no_memory).
  void reserve(std::size_t bytes, const HostAllocator& allocator = kPlainMemory) {
    if (bytes <= bytes_) return;
    release();
    const std::size_t rounded = (bytes + kHostAlignment - 1) / kHostAlignment * kHostAlignment;
    data_ = static_cast<std::byte*>(allocator.take(rounded));
    if (!data_) {
      throw Error(ErrorCode::no_memory, {}, with_commas(rounded) + " bytes for a batch");
    }
    bytes_ = rounded;
    give_ = allocator.give;
  }

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  void release() {
    if (data_) give_(data_);
    data_ = nullptr;
    bytes_ = 0;
  }

  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  void (*give_)(void*) = nullptr;
};

}  // namespace tundish
