#include "augment/pixels/colors/sharpness.h"

#include <algorithm>

#include "augment/pixels/colors/blend_ops.h"
#include "augment/pixels/colors/sharpness_ops.h"

namespace tundish {
namespace {

void sharpen_row(const SharpnessRow& row, float factor, Cpu cpu) {
  std::size_t summed = 0, i = 3;
  if (cpu == Cpu::avx512) summed = add_rows_avx512(row);
  if (cpu == Cpu::avx2) summed = add_rows_avx2(row);
  for (; summed < row.bytes; ++summed) {
    row.sums[summed] =
        static_cast<std::uint16_t>(row.above[summed] + row.here[summed] + row.below[summed]);
  }
  if (cpu == Cpu::avx512) i = sharpen_row_avx512(row, factor);
  if (cpu == Cpu::avx2) i = sharpen_row_avx2(row, factor);
  for (; i + 3 < row.bytes; ++i) {
    const int sum = row.sums[i - 3] + row.sums[i] + row.sums[i + 3] + 4 * row.here[i];
    row.to[i] = blend_levels(smoothed(sum), row.here[i], factor);
  }
}

}  // namespace

void Sharpness::run(std::uint8_t* rgb, Size size, float factor, Cpu cpu) {
  if (size.width < 3 || size.height < 3) return;
  const std::size_t bytes = static_cast<std::size_t>(size.width) * 3;
  sums_.resize(bytes);
  here_.resize(bytes);
  above_.assign(rgb, rgb + bytes);
  for (int y = 1; y + 1 < size.height; ++y) {
    std::uint8_t* row = rgb + static_cast<std::size_t>(y) * bytes;
    std::copy(row, row + bytes, here_.begin());
    sharpen_row({row, above_.data(), here_.data(), row + bytes, sums_.data(), bytes}, factor, cpu);
    std::swap(above_, here_);
  }
}

}  // namespace tundish
