// Reference implementation of mix_rows.h and of mixing on a GPU.
#pragma once

#include <bit>
#include <cstring>
#include <span>

#include "augment/cpu/layout.h"
#include "augment/erase_row.h"
#include "augment/mix.h"
#include "augment/pixel_table.h"

namespace tundish {

// Returns all elements of an image of levels, (H, W, C).
inline std::vector<float> elements_reference(const std::uint8_t* levels,
                                             std::span<const Erasure> erasures, Size size,
                                             const PixelTable& table) {
  std::vector<float> out(3 * static_cast<std::size_t>(size.width) *
                         static_cast<std::size_t>(size.height));
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = std::bit_cast<float>(table.value[i % 3][levels[i]]);
  }
  const Placement place =
      placement(reinterpret_cast<std::byte*>(out.data()), size, Dtype::float32, false);
  for (int y = 0; y < size.height; ++y) {
    erase_row(erasures, place, Dtype::float32, y, size.width);
  }
  return out;
}

inline void mix_reference(const std::vector<float>& own, const std::vector<float>& partner,
                          const Mix& mix, Size size, const Placement& place, Dtype dtype) {
  const auto share = static_cast<float>(mix.share), rest = static_cast<float>(1.0 - mix.share);
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      const bool inside = x >= mix.box.x && x < mix.box.x + mix.box.width && y >= mix.box.y &&
                          y < mix.box.y + mix.box.height;
      for (int c = 0; c < 3; ++c) {
        const auto at = static_cast<std::size_t>((y * size.width + x) * 3 + c);
        float value = own[at];
        if (mix.kind == Mix::Kind::blend) value = blend(own[at], partner[at], share, rest);
        if (mix.kind == Mix::Kind::cut && inside) value = partner[at];
        const std::uint32_t bits = element_bits(value, dtype);
        std::memcpy(place.base + y * place.dy + x * place.dx + c * place.dc, &bits,
                    dtype_bytes(dtype));
      }
    }
  }
}

}  // namespace tundish
