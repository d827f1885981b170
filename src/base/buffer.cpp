#include "base/buffer.h"

namespace tundish {

std::uint8_t* Buffer::take(std::size_t bytes) {
  constexpr std::size_t kAlign = 64;
  if (memory_.size() < bytes + kAlign) {
    memory_.assign(bytes + bytes / 4 + kAlign, 0);
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    data_ = memory_.data() + (kAlign - address % kAlign) % kAlign;
  }
  return data_;
}

}  // namespace tundish
