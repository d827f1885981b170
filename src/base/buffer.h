// Memory that is reused from call to call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tundish {

// Grow-only memory, aligned for any instruction set. Growing discards the contents.
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
