#include "augment/pixels/levels/level_formula_simd.h"

namespace tundish {

void apply_formula_avx512(std::uint8_t* levels, std::size_t count, const LevelFormula& formula) {
  using Lanes = FormulaLanes<64>;
  const bool bits = formula.kind == LevelFormula::Kind::bits;
  const std::size_t done =
      bits ? Lanes::bits(levels, count, formula) : Lanes::part(levels, count, formula);
  apply_formula_baseline(levels + done, count - done, formula);
}

}  // namespace tundish
