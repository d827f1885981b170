#include "augment/mix_rows.h"

#include <algorithm>
#include <cstring>

namespace tundish {

void MixRows::fill(std::vector<float>& row, const MixImage& image, int y, int width,
                   const PixelTable& table) {
  const auto elements = static_cast<std::size_t>(3 * width);
  if (row.size() < elements) row.resize(elements);
  // dy is 0: every row goes to the same memory.
  store_.begin(table, {reinterpret_cast<std::byte*>(row.data()), 0, 12, 4}, image.erasures);
  store_.row(y, image.levels + std::ptrdiff_t{3} * y * width, width, false);
}

void MixRows::store(const Placement& place, Dtype dtype, int y, int width) const {
  std::byte* const to = place.base + y * place.dy;
  if (dtype == Dtype::float32 && place.dx == 12 && place.dc == 4 && place.channels == 3) {
    std::memcpy(to, own_.data(), std::size_t{12} * static_cast<std::size_t>(width));
    return;
  }
  const std::size_t bytes = dtype_bytes(dtype);
  for (int c = 0; c < place.channels; ++c) {
    for (int x = 0; x < width; ++x) {
      const std::uint32_t bits = element_bits(own_[static_cast<std::size_t>(3 * x + c)], dtype);
      std::memcpy(to + x * place.dx + c * place.dc, &bits, bytes);
    }
  }
}

void MixRows::run(const MixImage& own, const MixImage& partner, const Mix& mix, Size size,
                  const PixelTable& table, const Placement& place, Dtype dtype) {
  const auto share = static_cast<float>(mix.share), rest = static_cast<float>(1.0 - mix.share);
  const int elements = 3 * size.width;
  for (int y = 0; y < size.height; ++y) {
    fill(own_, own, y, size.width, table);
    if (mix.kind == Mix::Kind::blend) {
      fill(partner_, partner, y, size.width, table);
      float* const to = own_.data();
      const float* const other = partner_.data();
      for (int i = 0; i < elements; ++i) to[i] = blend(to[i], other[i], share, rest);
    } else if (mix.kind == Mix::Kind::cut && y >= mix.box.y && y < mix.box.y + mix.box.height) {
      fill(partner_, partner, y, size.width, table);
      std::copy_n(partner_.data() + 3 * mix.box.x, 3 * mix.box.width, own_.data() + 3 * mix.box.x);
    }
    store(place, dtype, y, size.width);
  }
}

}  // namespace tundish
