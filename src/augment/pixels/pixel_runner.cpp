#include "augment/pixels/pixel_runner.h"

#include "augment/pixels/colors/colors.h"
#include "augment/pixels/levels/level_ops.h"
#include "augment/pixels/levels/level_range.h"
#include "augment/pixels/levels/statistics_ops.h"
#include "augment/pixels/noise/noise.h"

namespace tundish {

Size PixelRunner::run(std::span<const PlanStep> steps, std::vector<std::uint8_t>& rgb, Size size) {
  has_counts_ = false;
  for (const PlanStep& step : steps) run_one(std::get<PixelStep>(step), rgb, size);
  apply_table(rgb);
  return size;
}

void PixelRunner::run_one(const PixelStep& step, std::vector<std::uint8_t>& rgb, Size& size) {
  const PixelKind kind = kind_of(step.op);
  if (kind == PixelKind::levels) return merge(step);
  if (kind == PixelKind::statistics) return merge_statistics(step, rgb);
  apply_table(rgb);
  has_counts_ = false;
  if (kind == PixelKind::colors) return change_colors(rgb.data(), rgb.size() / 3, step, cpu_);
  if (kind == PixelKind::mix) return mix_.run(step, rgb);
  if (kind == PixelKind::tensors || step.op == PixelOp::elastic) {
    return tensors_.run(step, rgb, size);
  }
  if (kind == PixelKind::places) return warp_.run(step, rgb, size, cpu_);
  switch (step.op) {
    case PixelOp::sharpness:
      return sharpness_.run(rgb.data(), size, static_cast<float>(step.value[0]), cpu_);
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
      return run_reference(step, rgb, size);
  }
}

std::uint64_t PixelRunner::bytes(const PixelStep& step, Size size) {
  if (step.op == PixelOp::jpeg) return JpegRoundTrip::bytes(size);
  const PixelKind kind = kind_of(step.op);
  if (kind == PixelKind::mix) return ChainMix::bytes(size);
  if (step.op == PixelOp::elastic) return Tensors::bytes(step, size);
  if (kind == PixelKind::tensors) return Tensors::bytes(step, size) + ChainMix::bytes(size);
  const bool blurs = step.op == PixelOp::gaussian_blur || step.op == PixelOp::box_blur;
  return blurs ? Blur::bytes(step, size) : 0;
}

void PixelRunner::merge(const PixelStep& step) {
  if (!has_table_) {  // all channels use the same table
    for (std::size_t i = 0; i < 256; ++i) {
      table_[0][i] = level_after(step, static_cast<std::uint8_t>(i));
    }
    table_[1] = table_[2] = table_[0];
  } else {
    for (auto& levels : table_) {
      for (std::uint8_t& level : levels) level = level_after(step, level);
    }
  }
  has_table_ = true;
}

void PixelRunner::merge_statistics(const PixelStep& step, std::vector<std::uint8_t>& rgb) {
  const std::size_t pixels = rgb.size() / 3;
  if (step.op == PixelOp::contrast) {
    apply_table(rgb);  // a gray depends on three levels, so the pending table must be applied first
    const int mean = mean_gray(sum_of_grays(rgb.data(), pixels, cpu_), pixels);
    table_ = contrast_table(mean, static_cast<float>(step.value[0]));
  } else if (step.op == PixelOp::autocontrast && !has_table_ && !has_counts_) {
    table_ = autocontrast_table(level_range(rgb.data(), pixels, cpu_));
  } else {
    if (!has_counts_) counts_ = count_levels(rgb.data(), pixels);
    has_counts_ = true;
    if (!has_table_) table_ = unchanged_levels();
    const LevelCounts counts = counts_after(counts_, table_);
    table_ = joined(table_, step.op == PixelOp::equalize ? equalize_table(counts)
                                                         : autocontrast_table(range_of(counts)));
  }
  has_table_ = true;
}

void PixelRunner::apply_table(std::vector<std::uint8_t>& rgb) {
  if (!has_table_) return;
  has_table_ = has_counts_ = false;
  apply_levels(rgb.data(), rgb.size(), table_, cpu_);
}

}  // namespace tundish
