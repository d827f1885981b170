#include "augment/pixels/blur/blur.h"
#include "augment/pixels/chains/chain_ops.h"
#include "augment/pixels/colors/colors_reference.h"
#include "augment/pixels/levels/level_ops.h"
#include "augment/pixels/noise/noise.h"
#include "augment/pixels/pixel_runner.h"

namespace tundish {

void run_reference(const PixelStep& step, std::vector<std::uint8_t>& rgb, Size& size) {
  switch (kind_of(step.op)) {
    case PixelKind::levels:
      for (std::uint8_t& level : rgb) level = level_after(step, level);
      break;
    case PixelKind::places:
      if (step.op == PixelOp::elastic) return tensors_reference(step, rgb, size);
      return warp_reference(step, rgb, size);
    case PixelKind::colors:
    case PixelKind::statistics:
      return change_colors_reference(step, rgb, size);
    case PixelKind::neighbors:
      if (step.op == PixelOp::jpeg)
        return jpeg_reference(rgb, size, static_cast<int>(step.value[0]));
      if (step.op == PixelOp::sharpness) change_colors_reference(step, rgb, size);
      return blur_reference(step, rgb, size);
    case PixelKind::noise:
      return noise_reference(step, rgb, size);
    case PixelKind::tensors:
      return tensors_reference(step, rgb, size);
    case PixelKind::mix:
      return;
  }
}

void run_reference(std::span<const PixelStep> steps, std::vector<std::uint8_t>& rgb, Size& size) {
  std::vector<std::uint8_t> kept;
  std::vector<float> sum;
  for (const PixelStep& step : steps) {
    if (kind_of(step.op) != PixelKind::mix) {
      run_reference(step, rgb, size);
      continue;
    }
    const auto weight = static_cast<float>(step.value[0]);
    if (step.op == PixelOp::mix_begin) sum.assign(rgb.size(), 0.0f);
    for (std::size_t i = 0; i < rgb.size(); ++i) {
      if (step.op == PixelOp::mix_end) {
        rgb[i] = mixed_level(sum[i]);
      } else {
        sum[i] += mixed_part(rgb[i], weight);
      }
    }
    if (step.op == PixelOp::mix_begin) kept = rgb;
    if (step.op == PixelOp::mix_add) rgb = kept;
  }
}

}  // namespace tundish
