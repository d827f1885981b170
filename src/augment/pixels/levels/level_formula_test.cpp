#include "augment/pixels/levels/level_formula.h"

#include <doctest/doctest.h>

#include <array>
#include <vector>

#include "augment/pixels/levels/level_ops.h"
#include "base/random.h"
#include "base/testing.h"

namespace tundish {
namespace {

using Table = std::array<std::uint8_t, 256>;
using Kind = LevelFormula::Kind;

Table table_of(const PixelStep& step) {
  Table out;
  for (std::size_t i = 0; i < 256; ++i) out[i] = level_after(step, static_cast<std::uint8_t>(i));
  return out;
}

// Counts levels that differ from the table, also for lengths that do not fill whole registers.
int count_wrong(const LevelFormula& formula, const Table& table, Cpu cpu) {
  int wrong = 0;
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{63}, std::size_t{256},
                                  std::size_t{256 + 64 + 33}}) {
    std::vector<std::uint8_t> levels(count);
    for (std::size_t i = 0; i < count; ++i) levels[i] = static_cast<std::uint8_t>(i);
    apply_formula(levels.data(), count, formula, cpu);
    for (std::size_t i = 0; i < count; ++i) wrong += levels[i] != table[i % 256];
  }
  return wrong;
}

template <class Check>
void each_cpu(Check check) {
  for (int cpu = 0; cpu <= static_cast<int>(best_cpu()); ++cpu) check(static_cast<Cpu>(cpu));
}

// Counts the instruction sets for which the step has no formula, or a wrong one.
int count_missing(const PixelStep& step) {
  const Table table = table_of(step);
  int missing = 0;
  each_cpu([&](Cpu cpu) {
    const LevelFormula formula = formula_of(table.data(), cpu);
    missing += formula.kind == Kind::none || count_wrong(formula, table, cpu) > 0;
  });
  return missing;
}

TEST_CASE("inverted, posterized and solarized levels have a formula") {
  CHECK(count_missing({.op = PixelOp::invert}) == 0);
  for (int bits = 0; bits <= 8; ++bits) {
    CHECK(count_missing({.op = PixelOp::posterize, .value = {static_cast<double>(bits)}}) == 0);
  }
  for (int half = 0; half <= 513; ++half) {
    CHECK(count_missing({.op = PixelOp::solarize, .value = {half * 0.5}}) == 0);
  }
}

TEST_CASE("brightness has a formula for most factors where it pays, and never a wrong one") {
  Random random({.seed = test_seed()}, 0);
  constexpr int kFactors = 3000;
  int found = 0;
  for (int i = 0; i < kFactors; ++i) {
    const double factor = random.uniform(0, i % 2 == 0 ? 2 : 20);
    const Table table = table_of({.op = PixelOp::brightness, .value = {factor}});
    each_cpu([&](Cpu cpu) {
      const LevelFormula formula = formula_of(table.data(), cpu);
      if (formula.kind == Kind::none) return;
      found += cpu == Cpu::avx2;
      CHECK(count_wrong(formula, table, cpu) == 0);
    });
  }
  if (best_cpu() >= Cpu::avx2) CHECK(found > kFactors * 3 / 4);
}

TEST_CASE("a table that differs from a formula in one level does not get it") {
  Random random({.seed = test_seed()}, 0);
  for (int i = 0; i < 2000; ++i) {
    Table table = table_of(i % 2 == 0 ? PixelStep{.op = PixelOp::invert}
                                      : PixelStep{.op = PixelOp::brightness, .value = {0.75}});
    auto& level = table[static_cast<std::size_t>(random.below(256))];
    level = static_cast<std::uint8_t>(level ^ (1u << random.below(8)));
    each_cpu([&](Cpu cpu) {
      const LevelFormula formula = formula_of(table.data(), cpu);
      if (formula.kind != Kind::none) CHECK(count_wrong(formula, table, cpu) == 0);
    });
  }
}

}  // namespace
}  // namespace tundish
