#include "augment/operations/warps/random_perspective.h"

#include <algorithm>
#include <cmath>

namespace tundish {
namespace {

constexpr std::size_t kUnknowns = 8;
using Equation = std::array<double, kUnknowns + 1>;  // coefficients, then the right-hand side

// Gaussian elimination; the pivot is the largest number of a column.
std::optional<std::array<double, kUnknowns>> solve(std::array<Equation, kUnknowns> equations) {
  for (std::size_t i = 0; i < kUnknowns; ++i) {
    const auto larger = [i](const Equation& a, const Equation& b) {
      return std::abs(a[i]) < std::abs(b[i]);
    };
    std::swap(equations[i], *std::max_element(equations.begin() + static_cast<std::ptrdiff_t>(i),
                                              equations.end(), larger));
    const Equation& pivot = equations[i];
    if (std::abs(pivot[i]) < 1e-9) return {};
    for (std::size_t row = 0; row < kUnknowns; ++row) {
      if (row == i) continue;
      const double factor = equations[row][i] / pivot[i];
      for (std::size_t k = i; k <= kUnknowns; ++k) equations[row][k] -= factor * pivot[k];
    }
  }
  std::array<double, kUnknowns> out;
  for (std::size_t i = 0; i < kUnknowns; ++i) out[i] = equations[i][kUnknowns] / equations[i][i];
  return out;
}

}  // namespace

std::optional<std::array<double, 8>> perspective_coefficients(const Corners& from,
                                                              const Corners& to) {
  std::array<Equation, kUnknowns> equations;
  for (std::size_t i = 0; i < 4; ++i) {
    const double x = to[i][0], y = to[i][1], u = from[i][0], v = from[i][1];
    equations[2 * i] = {x, y, 1, 0, 0, 0, -u * x, -u * y, u};
    equations[2 * i + 1] = {0, 0, 0, x, y, 1, -v * x, -v * y, v};
  }
  auto out = solve(equations);
  if (out) {
    for (double& one : *out) one = static_cast<float>(one);
  }
  return out;
}

void RandomPerspective::plan(View& view, Random& random) const {
  if (random.uniform() >= p) return;
  const int width = view.size().width, height = view.size().height;
  // Corners move inwards by less than this many pixels.
  const int across = static_cast<int>(distortion_scale * (width / 2)) + 1;
  const int down = static_cast<int>(distortion_scale * (height / 2)) + 1;
  const auto draw = [&random](int from, int count) {
    return from + static_cast<int>(random.below(static_cast<std::uint64_t>(count)));
  };
  Corners to;
  to[0] = {draw(0, across), draw(0, down)};
  to[1] = {draw(width - across, across), draw(0, down)};
  to[2] = {draw(width - across, across), draw(height - down, down)};
  to[3] = {draw(0, across), draw(height - down, down)};
  const int right = width - 1, bottom = height - 1;
  const Corners from{{{0, 0}, {right, 0}, {right, bottom}, {0, bottom}}};
  if (const auto value = perspective_coefficients(from, to)) {
    view.add({.op = PixelOp::perspective, .filter = interpolation, .fill = fill, .value = *value});
  }
}

}  // namespace tundish
