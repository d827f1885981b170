// Big-endian words in byte buffers, the counterpart of base/bytes.h. The caller checks
// bounds.
#pragma once

#include <algorithm>
#include <array>

#include "base/bytes.h"

namespace tundish {

template <std::integral T>
T load_big(const std::byte* from) {
  std::array<std::byte, sizeof(T)> turned;
  std::reverse_copy(from, from + sizeof(T), turned.begin());
  return load<T>(turned.data());
}

}  // namespace tundish
