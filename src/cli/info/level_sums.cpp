#include "cli/info/level_sums.h"

#include <cmath>

namespace tundish::cli {
namespace {

// Sums of one row. 65,535 squares of 255 fit in 32 bits, which compilers vectorize well.
struct RowSums {
  std::array<std::uint32_t, 3> sum{}, squares{};
};

RowSums sums_of_row(const std::uint8_t* rgb, int width) {
  RowSums out;
  for (int x = 0; x < width; ++x) {
    for (std::size_t c = 0; c < 3; ++c) {
      const std::uint32_t level = rgb[3 * static_cast<std::size_t>(x) + c];
      out.sum[c] += level;
      out.squares[c] += level * level;
    }
  }
  return out;
}

}  // namespace

void SumSink::push(const Strip& strip) {
  for (int row = 0; row < strip.rows; ++row) {
    const std::uint8_t* rgb = strip.pixels + row * strip.stride - std::ptrdiff_t{3} * strip.x;
    const RowSums found = sums_of_row(rgb, width_);
    for (std::size_t c = 0; c < 3; ++c) {
      sums.sum[c] += found.sum[c];
      sums.squares[c] += found.squares[c];
    }
  }
  sums.pixels += static_cast<std::uint64_t>(strip.rows) * static_cast<std::uint64_t>(width_);
}

bool LevelSums::add(const LevelSums& other) {
  if (other.pixels > kMaxSummedPixels - pixels) return false;
  pixels += other.pixels;
  for (std::size_t c = 0; c < 3; ++c) {
    sum[c] += other.sum[c];
    squares[c] += other.squares[c];
  }
  return true;
}

std::array<double, 3> LevelSums::mean() const {
  std::array<double, 3> out{};
  if (pixels == 0) return out;
  for (std::size_t c = 0; c < 3; ++c) {
    out[c] = static_cast<double>(sum[c]) / static_cast<double>(pixels) / 255;
  }
  return out;
}

std::array<double, 3> LevelSums::std() const {
  using Wide = unsigned __int128;
  std::array<double, 3> out{};
  if (pixels == 0) return out;
  for (std::size_t c = 0; c < 3; ++c) {
    // pixels^2 times the variance, in integers to avoid cancellation
    const Wide scaled = Wide{pixels} * squares[c] - Wide{sum[c]} * sum[c];
    out[c] = std::sqrt(static_cast<double>(scaled)) / static_cast<double>(pixels) / 255;
  }
  return out;
}

}  // namespace tundish::cli
