#include "cli/view/describe_affine.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

namespace tundish::cli {
namespace {

// Draws have at most float32 precision and coefficients are rounded: ignore smaller differences.
constexpr double kNothing = 1e-4;

bool near(double a, double b) { return std::abs(a - b) < kNothing; }

double degrees(double radians) { return radians * 180 / std::numbers::pi; }

// Formats at most two decimals, never "-0".
std::string number_text(double value) { return fmt::format("{:g}", std::round(value * 100) / 100); }

// Maps the image point (x, y) to (xx x + xy y, yx x + yy y).
struct Linear {
  double xx, xy, yx, yy;
};

// Decomposes into scale, then shear along x, then rotation; possible for every unmirrored matrix.
void add_rotation_scale_shear(std::vector<std::string>& out, const Linear& m) {
  const double across = std::hypot(m.xx, m.yx);
  const double down = (m.xx * m.yy - m.xy * m.yx) / across;
  const double slope = (m.xx * m.xy + m.yx * m.yy) / across / down;
  const double angle = degrees(std::atan2(-m.yx, m.xx));
  if (!near(angle, 0)) out.push_back(fmt::format("rotate {} deg", number_text(angle)));
  if (near(across, down)) {
    if (!near(across, 1)) out.push_back("scale " + number_text(across));
  } else {
    out.push_back(fmt::format("scale {} x {}", number_text(across), number_text(down)));
  }
  if (!near(slope, 0)) {
    out.push_back(fmt::format("shear x {} deg", number_text(degrees(std::atan(slope)))));
  }
}

void add_shift(std::vector<std::string>& out, double shift, const char* forward, const char* back) {
  if (std::abs(shift) < 0.005) return;
  out.push_back(
      fmt::format("shift {} {} px", shift > 0 ? forward : back, number_text(std::abs(shift))));
}

}  // namespace

std::vector<std::string> describe_affine(const PixelStep& step, Size input) {
  const auto& v = step.value;  // maps result coordinates to image coordinates
  const double det = v[0] * v[4] - v[1] * v[3];
  if (!(std::abs(det) > 1e-12)) return {"affine, flat"};
  const Linear m{v[4] / det, -v[1] / det, -v[3] / det, v[0] / det};
  std::vector<std::string> out;
  if (near(m.xx, 1) && near(m.yy, 1) && near(m.xy, 0) && !near(m.yx, 0)) {
    out.push_back(fmt::format("shear y {} deg", number_text(degrees(std::atan(m.yx)))));
  } else {
    add_rotation_scale_shear(out, m);
  }
  const bool from_middle = step.op == PixelOp::tensor_affine;
  const Size result = step.size == Size{} ? input : step.size;
  const double x = (from_middle ? 0 : input.width / 2.0) - v[2];
  const double y = (from_middle ? 0 : input.height / 2.0) - v[5];
  const double middle_x = from_middle ? 0 : result.width / 2.0;
  const double middle_y = from_middle ? 0 : result.height / 2.0;
  add_shift(out, m.xx * x + m.xy * y - middle_x, "right", "left");
  add_shift(out, m.yx * x + m.yy * y - middle_y, "down", "up");
  return out;
}

}  // namespace tundish::cli
