#include "augment/erase_row.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "augment/pixels/noise/normal_ops.h"

namespace tundish {
namespace {

// Erases the pixels from .. to - 1 of row y.
void erase(const Erasure& erasure, const Placement& place, Dtype dtype, int y, int from, int to) {
  const std::size_t bytes = dtype_bytes(dtype);
  const float* table = normal_table();
  const Window& w = erasure.window;
  std::array<std::uint32_t, 3> bits;
  for (std::size_t c = 0; c < 3; ++c) bits[c] = element_bits(erasure.value[c], dtype);
  for (int x = from; x < to; ++x) {
    std::byte* pixel = place.base + y * place.dy + x * place.dx;
    if (erasure.random) {
      const auto number = static_cast<std::uint64_t>(std::int64_t{y - w.y} * w.width + (x - w.x));
      const std::uint64_t random = pixel_bits(erasure.key, number);
      for (std::size_t c = 0; c < 3; ++c) {
        const std::uint32_t mine = channel_bits(random, static_cast<int>(c));
        bits[c] = element_bits(normal_number(table, mine), dtype);
      }
    }
    for (int c = 0; c < place.channels; ++c) {
      std::memcpy(pixel + c * place.dc, &bits[static_cast<std::size_t>(c)], bytes);
    }
  }
}

}  // namespace

void erase_row(std::span<const Erasure> erasures, const Placement& place, Dtype dtype, int y,
               int width) {
  for (const Erasure& erasure : erasures) {
    const Window& w = erasure.window;
    if (y < w.y || y >= w.y + w.height) continue;
    erase(erasure, place, dtype, y, std::max(0, w.x), std::min(width, w.x + w.width));
  }
}

}  // namespace tundish
