#include "augment/cpu/pixel_steps.h"

#include <cmath>

namespace tundish {

void set_steps(PixelSteps& out, float factor, const float* mean, const float* std) {
  out.factor = factor;
  for (int which = 0; which < 4; ++which) {
    for (int i = 0; i < PixelSteps::kPeriod; ++i) {
      const int channel = which == 0 ? i % 3 : which - 1;
      out.mean[which][i] = mean[channel];
      out.std[which][i] = std[channel];
      out.inverse[which][i] = 1.0f / std[channel];
    }
  }
}

float step_slowly(const PixelSteps& steps, int which, int place, std::uint8_t level) {
  const float centered = static_cast<float>(level) * steps.factor - steps.mean[which][place];
  const float quotient = centered * steps.inverse[which][place];
  const float rest = std::fma(-quotient, steps.std[which][place], centered);
  return std::fma(rest, steps.inverse[which][place], quotient);
}

}  // namespace tundish
