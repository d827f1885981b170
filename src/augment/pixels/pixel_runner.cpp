#include "augment/pixels/pixel_runner.h"

#include "augment/pixels/level_ops.h"
#include "augment/pixels/noise.h"

namespace tundish {

Size PixelRunner::run(std::span<const PlanStep> steps, std::vector<std::uint8_t>& rgb, Size size) {
  for (const PlanStep& step : steps) run_one(std::get<PixelStep>(step), rgb, size);
  apply_table(rgb);
  return size;
}

void PixelRunner::run_one(const PixelStep& step, std::vector<std::uint8_t>& rgb, Size& size) {
  if (kind_of(step.op) == PixelKind::levels) return merge(step);
  apply_table(rgb);
  switch (step.op) {
    case PixelOp::gaussian_blur:
    case PixelOp::box_blur:
      return blur_.run(step, rgb, size);
    case PixelOp::jpeg:
      return jpeg_.run(rgb, size, static_cast<int>(step.value[0]));
    case PixelOp::noise:
      return add_noise(step, rgb, cpu_);
    case PixelOp::erase:
      return erase_window(step, rgb, size);
    default:
      return run_slowly(step, rgb, size);
  }
}

std::uint64_t PixelRunner::bytes(const PixelStep& step, Size size) {
  if (step.op == PixelOp::jpeg) return JpegRoundTrip::bytes(size);
  const bool blurs = step.op == PixelOp::gaussian_blur || step.op == PixelOp::box_blur;
  return blurs ? Blur::bytes(step, size) : 0;
}

void PixelRunner::merge(const PixelStep& step) {
  if (!has_table_) {
    for (auto& levels : table_) {
      for (std::size_t i = 0; i < 256; ++i) levels[i] = static_cast<std::uint8_t>(i);
    }
  }
  has_table_ = true;
  for (auto& levels : table_) {
    for (std::uint8_t& level : levels) level = level_after(step, level);
  }
}

void PixelRunner::apply_table(std::vector<std::uint8_t>& rgb) {
  if (!has_table_) return;
  has_table_ = false;
  const std::size_t bytes = rgb.size();
  for (std::size_t i = 0; i + 3 <= bytes; i += 3) {
    rgb[i] = table_[0][rgb[i]];
    rgb[i + 1] = table_[1][rgb[i + 1]];
    rgb[i + 2] = table_[2][rgb[i + 2]];
  }
}

}  // namespace tundish
