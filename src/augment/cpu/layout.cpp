#include "augment/cpu/layout.h"

namespace tundish {

std::size_t image_bytes(Size size, Dtype dtype, int channels) {
  return static_cast<std::size_t>(channels) * static_cast<std::size_t>(size.width) *
         static_cast<std::size_t>(size.height) * dtype_bytes(dtype);
}

Placement placement(std::byte* base, Size size, Dtype dtype, bool channels_first, int channels) {
  const auto width = static_cast<std::size_t>(size.width);
  const auto height = static_cast<std::size_t>(size.height);
  const auto bytes_of = [&](std::size_t elements) {
    return static_cast<std::ptrdiff_t>(elements * dtype_bytes(dtype));
  };
  if (channels_first) {
    return {base, bytes_of(width), bytes_of(1), bytes_of(width * height), channels};
  }
  const auto wide = static_cast<std::size_t>(channels);
  return {base, bytes_of(wide * width), bytes_of(wide), bytes_of(1), channels};
}

}  // namespace tundish
