#include "augment/pixels/levels/level_table.h"

#include "augment/pixels/levels/level_formula.h"

namespace tundish {
namespace {

void apply_baseline(std::uint8_t* rgb, std::size_t bytes, const LevelTable& table) {
  for (std::size_t i = 0; i + 3 <= bytes; i += 3) {
    rgb[i] = table[0][rgb[i]];
    rgb[i + 1] = table[1][rgb[i + 1]];
    rgb[i + 2] = table[2][rgb[i + 2]];
  }
}

}  // namespace

LevelTable unchanged_levels() {
  LevelTable table;
  for (auto& levels : table) {
    for (std::size_t i = 0; i < 256; ++i) levels[i] = static_cast<std::uint8_t>(i);
  }
  return table;
}

void apply_levels(std::uint8_t* rgb, std::size_t bytes, const LevelTable& table, Cpu cpu) {
  const bool same = table[0] == table[1] && table[0] == table[2];
  if (same) {
    const LevelFormula formula = formula_of(table[0].data(), cpu);
    if (formula.kind != LevelFormula::Kind::none) {
      return apply_formula(rgb, bytes, formula, cpu);
    }
  }
  if (cpu == Cpu::avx512) {
    if (same) return apply_same_levels_avx512(rgb, bytes, table[0].data());
    return apply_levels_avx512(rgb, bytes, table[0].data());
  }
  if (cpu == Cpu::avx2) {
    if (same) return apply_same_levels_avx2(rgb, bytes, table[0].data());
    return apply_levels_avx2(rgb, bytes, table[0].data());
  }
  apply_baseline(rgb, bytes, table);
}

}  // namespace tundish
