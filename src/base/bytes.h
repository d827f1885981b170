// Little-endian words in byte buffers. Nothing here checks bounds; callers check them first.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <span>

namespace tundish {

static_assert(std::endian::native == std::endian::little, "the file format is little-endian");

using Bytes = std::span<const std::byte>;

template <std::integral T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <std::integral T>
void store(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

}  // namespace tundish
