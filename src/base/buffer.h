// Memory that is reused from call to call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tundish {

// Grow-only memory, aligned for any instruction set. Growing discards the contents.
class Buffer {
 public:
  std::uint8_t* take(std::size_t bytes) {
    constexpr std::size_t kAlign = 64;
    if (memory_.size() < bytes + kAlign) {
      memory_.assign(bytes + bytes / 4 + kAlign, 0);
      const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
      data_ = memory_.data() + (kAlign - address % kAlign) % kAlign;
    }
    return data_;
  }
  std::uint8_t* data() const { return data_; }
  std::uint64_t held() const { return memory_.capacity(); }

 private:
  std::vector<std::uint8_t> memory_;
  std::uint8_t* data_ = nullptr;
};

}  // namespace tundish
