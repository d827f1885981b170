// Memory that is used again and again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tundish {

// Memory that only grows, aligned for any instruction set. What it held is lost when it grows.
class Buffer {
 public:
  std::uint8_t* take(std::size_t bytes);
  std::uint8_t* data() const { return data_; }
  std::uint64_t held() const { return memory_.capacity(); }

 private:
  std::vector<std::uint8_t> memory_;
  std::uint8_t* data_ = nullptr;
};

}  // namespace tundish
