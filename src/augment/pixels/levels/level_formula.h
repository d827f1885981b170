// Tables of levels that can also be computed by a formula, which is faster than look-ups: inverted,
// posterized and solarized images, and brightness. The formula is derived from the table, so any
// operations may have produced the table.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/machine/cpu.h"

namespace tundish {

struct LevelFormula {
  enum class Kind : std::uint8_t {
    none,
    bits,     // (level ^ flipped) & kept
    part,     // level ^ flipped from level `first` on; lower levels are unchanged
    product,  // level * factor >> shift, at most 255
  };
  Kind kind = Kind::none;
  std::uint8_t flipped = 0, kept = 255, first = 0;
  std::uint16_t factor = 0;
  int shift = 0;  // 9 .. 16
};

// Returns a formula that computes every level of a table of 256 levels. Returns Kind::none if
// look-ups are faster on this machine.
LevelFormula formula_of(const std::uint8_t* table, Cpu cpu);

// Returns the level computed by the formula.
std::uint8_t level_by(const LevelFormula& formula, std::uint8_t level);

// `formula` must come from formula_of() with the same `cpu`.
void apply_formula(std::uint8_t* levels, std::size_t count, const LevelFormula& formula, Cpu cpu);

void apply_formula_baseline(std::uint8_t* levels, std::size_t count, const LevelFormula& formula);
void apply_formula_avx2(std::uint8_t* levels, std::size_t count, const LevelFormula& formula);
void apply_formula_avx512(std::uint8_t* levels, std::size_t count, const LevelFormula& formula);

}  // namespace tundish
