#include "augment/operations/warps/affine_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>

#include "base/fields.h"

// Every formula keeps the order of operations of the Python source it is ported from.
namespace tundish {
namespace {

using Matrix = std::array<double, 6>;

// Python's math.radians().
double radians(double degrees) { return degrees * (std::numbers::pi / 180.0); }

// Python's round(value, 15): rounds to the nearest decimal, by the exact value of the number.
double rounded_15(double value) {
  std::array<char, 64> text;
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed, 15);
  std::from_chars(text.data(), end.ptr, value);
  return value;
}

// Python's angle % 360.0.
double within_turn(double angle) {
  const double rest = std::fmod(angle, 360.0);
  return rest < 0 ? rest + 360.0 : rest;
}

Point moved(const Matrix& m, double x, double y) {
  return {m[0] * x + m[1] * y + m[2], m[3] * x + m[4] * y + m[5]};
}

PixelStep affine_step(const Matrix& m, const WarpLook& look) {
  return {.op = PixelOp::affine,
          .filter = look.filter,
          .fill = look.fill,
          .value = {m[0], m[1], m[2], m[3], m[4], m[5]}};
}

// Returns a step that rotates by 90 degrees; every pixel of the image is shown once.
PixelStep quarter_turn(bool left, Size image) {
  const Matrix m = left ? Matrix{0, -1, double(image.width), 1, 0, 0}
                        : Matrix{0, 1, 0, -1, 0, double(image.height)};
  PixelStep step = affine_step(m, {});
  if (image.width != image.height) step.size = {image.height, image.width};
  return step;
}

// Shifts the matrix so that the result has room for the whole image; returns the result's size.
Size expand_result(Matrix& m, Size image) {
  const double w = image.width, h = image.height;
  const Point corners[] = {moved(m, 0, 0), moved(m, w, 0), moved(m, w, h), moved(m, 0, h)};
  const auto extent = [&](std::size_t axis) {
    double low = corners[0][axis], high = low;
    for (const Point& corner : corners) {
      low = std::min(low, corner[axis]);
      high = std::max(high, corner[axis]);
    }
    return std::ceil(high) - std::floor(low);
  };
  const double width = extent(0), height = extent(1);
  if (!(std::max(width, height) <= kMaxPlannedSide)) {
    refuse_argument("RandomRotation",
                    fmt::format("the rotated image would have {}x{} pixels", width, height));
  }
  const Point corner = moved(m, -(width - w) / 2.0, -(height - h) / 2.0);
  m[2] = corner[0];
  m[5] = corner[1];
  return {static_cast<int>(width), static_cast<int>(height)};
}

}  // namespace

Matrix affine_matrix(const AffineNumbers& numbers, Size image) {
  const double rotation = radians(numbers.angle);
  const double sx = radians(numbers.shear[0]), sy = radians(numbers.shear[1]);
  const Point center = numbers.center.value_or(Point{image.width * 0.5, image.height * 0.5});
  const double cos_sy = std::cos(sy), tan_sx = std::tan(sx);
  const double x = center[0] + numbers.translate[0], y = center[1] + numbers.translate[1];
  const double a = std::cos(rotation - sy) / cos_sy;
  const double b = -(a * tan_sx + std::sin(rotation));
  const double c = std::sin(rotation - sy) / cos_sy;
  const double d = std::cos(rotation) - c * tan_sx;
  Matrix m{d / numbers.scale, -b / numbers.scale, 0, -c / numbers.scale, a / numbers.scale, 0};
  m[2] += center[0] - m[0] * x - m[1] * y;
  m[5] += center[1] - m[3] * x - m[4] * y;
  return m;
}

void add_affine(View& view, const AffineNumbers& numbers, const WarpLook& look) {
  view.add(affine_step(affine_matrix(numbers, view.size()), look));
}

void add_rotation(View& view, double angle, const WarpLook& look, bool expand,
                  const std::optional<Point>& center) {
  const Size image = view.size();
  angle = within_turn(angle);
  if (!center) {
    if (angle == 0) return;
    if (angle == 180) {
      view.mirror_x();
      view.mirror_y();
      return;
    }
    if ((angle == 90 || angle == 270) && (expand || image.width == image.height)) {
      view.add(quarter_turn(angle == 90, image));
      return;
    }
  }
  const Point middle = center.value_or(Point{image.width / 2.0, image.height / 2.0});
  const double turn = -radians(angle);
  const double cos = rounded_15(std::cos(turn)), sin = rounded_15(std::sin(turn));
  Matrix m{cos, sin, 0, rounded_15(-std::sin(turn)), cos, 0};
  const Point back = moved(m, -middle[0], -middle[1]);
  m[2] = back[0] + middle[0];
  m[5] = back[1] + middle[1];
  const Size size = expand ? expand_result(m, image) : image;
  PixelStep step = affine_step(m, look);
  if (size != image) step.size = size;
  view.add(step);
}

}  // namespace tundish
