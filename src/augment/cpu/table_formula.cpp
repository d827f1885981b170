#include "augment/cpu/table_formula.h"

#include <cmath>

namespace tundish {

void set_formula(TableFormula& out, float factor, const float* mean, const float* std) {
  out.factor = factor;
  for (int which = 0; which < 4; ++which) {
    for (int i = 0; i < TableFormula::kPeriod; ++i) {
      const int channel = which == 0 ? i % 3 : which - 1;
      out.mean[which][i] = mean[channel];
      out.std[which][i] = std[channel];
      out.inverse[which][i] = 1.0f / std[channel];
    }
  }
}

float formula_reference(const TableFormula& formula, int which, int place, std::uint8_t level) {
  const float centered = static_cast<float>(level) * formula.factor - formula.mean[which][place];
  const float quotient = centered * formula.inverse[which][place];
  const float rest = std::fma(-quotient, formula.std[which][place], centered);
  return std::fma(rest, formula.inverse[which][place], quotient);
}

}  // namespace tundish
