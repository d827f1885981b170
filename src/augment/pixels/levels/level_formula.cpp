#include "augment/pixels/levels/level_formula.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tundish {
namespace {

using Kind = LevelFormula::Kind;

bool gives(const LevelFormula& formula, const std::uint8_t* table) {
  for (int level = 0; level < 256; ++level) {
    if (level_by(formula, static_cast<std::uint8_t>(level)) != table[level]) return false;
  }
  return true;
}

LevelFormula bits_of(const std::uint8_t* table) {
  LevelFormula out{.kind = Kind::bits, .flipped = table[0], .kept = 0};
  for (int bit = 1; bit < 256; bit *= 2) {
    out.kept = static_cast<std::uint8_t>(out.kept | ((table[0] ^ table[bit]) & bit));
  }
  return out;
}

LevelFormula part_of(const std::uint8_t* table) {
  int first = 0;
  while (first < 255 && table[first] == first) ++first;
  return {.kind = Kind::part,
          .flipped = static_cast<std::uint8_t>(table[first] ^ first),
          .first = static_cast<std::uint8_t>(first)};
}

// Finds the lowest factor that fits the levels below 255, with the largest shift for 16 bits.
LevelFormula product_of(const std::uint8_t* table) {
  LevelFormula out{.kind = Kind::product};
  std::array<float, 256> bounds{};
  for (std::size_t i = 1; i < 256; ++i) {
    bounds[i] = table[i] == 255 ? 0.0f : static_cast<float>(table[i]) / static_cast<float>(i);
  }
  const float bound = *std::max_element(bounds.begin(), bounds.end());
  for (out.shift = 16; out.shift >= 9; --out.shift) {
    const double factor = std::ceil(std::ldexp(static_cast<double>(bound), out.shift));
    if (factor >= 65536) continue;
    // The bound is rounded: the exact factor may be one less or one more.
    for (int off = -1; off <= 1; ++off) {
      const double other = factor + off;
      if (other < 0 || other >= 65536) continue;
      out.factor = static_cast<std::uint16_t>(other);
      if (gives(out, table)) return out;
    }
    return {};
  }
  return {};
}

}  // namespace

std::uint8_t level_by(const LevelFormula& formula, std::uint8_t level) {
  switch (formula.kind) {
    case Kind::bits:
      return static_cast<std::uint8_t>((level ^ formula.flipped) & formula.kept);
    case Kind::part:
      return static_cast<std::uint8_t>(level >= formula.first ? level ^ formula.flipped : level);
    case Kind::product:
      return static_cast<std::uint8_t>(
          std::min(std::uint32_t{level} * formula.factor >> formula.shift, 255u));
    default:
      return level;
  }
}

LevelFormula formula_of(const std::uint8_t* table, Cpu cpu) {
  if (const LevelFormula bits = bits_of(table); gives(bits, table)) return bits;
  if (const LevelFormula part = part_of(table); gives(part, table)) return part;
  // With AVX-512, two shuffles look up 64 levels, which is faster than 16-bit products.
  return cpu == Cpu::avx2 && table[0] == 0 ? product_of(table) : LevelFormula{};
}

void apply_formula(std::uint8_t* levels, std::size_t count, const LevelFormula& formula, Cpu cpu) {
  if (cpu == Cpu::avx512) return apply_formula_avx512(levels, count, formula);
  if (cpu == Cpu::avx2) return apply_formula_avx2(levels, count, formula);
  apply_formula_baseline(levels, count, formula);
}

void apply_formula_baseline(std::uint8_t* levels, std::size_t count, const LevelFormula& formula) {
  for (std::size_t i = 0; i < count; ++i) levels[i] = level_by(formula, levels[i]);
}

}  // namespace tundish
