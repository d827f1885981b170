// Tables of levels that are also a formula, which is faster than looking levels up: inverted,
// posterized and solarized images, and brightness. The formula is found in the table, so that it
// does not matter which operations made it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/machine/cpu.h"

namespace tundish {

struct LevelFormula {
  enum class Kind : std::uint8_t {
    none,
    bits,     // (level ^ flipped) & kept
    part,     // level ^ flipped from level `first` on; below, the level itself
    product,  // level * factor >> shift, 255 at most
  };
  Kind kind = Kind::none;
  std::uint8_t flipped = 0, kept = 255, first = 0;
  std::uint16_t factor = 0;
  int shift = 0;  // 9 .. 16
};

// Of a table of 256 levels; Kind::none where looking levels up is faster on this machine. Every
// level of the table follows from the formula.
LevelFormula formula_of(const std::uint8_t* table, Cpu cpu);

// The level that the formula gives.
std::uint8_t level_by(const LevelFormula& formula, std::uint8_t level);

// A formula of formula_of() for the same machine.
void apply_formula(std::uint8_t* levels, std::size_t count, const LevelFormula& formula, Cpu cpu);

void apply_formula_plain(std::uint8_t* levels, std::size_t count, const LevelFormula& formula);
void apply_formula_avx2(std::uint8_t* levels, std::size_t count, const LevelFormula& formula);
void apply_formula_avx512(std::uint8_t* levels, std::size_t count, const LevelFormula& formula);

}  // namespace tundish
