// The table of a pixel's values as arithmetic, where that gives the same bits for every level:
// (level * factor - mean) / std, the division as a product and one step of correction.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tundish {

enum class Dtype : std::uint8_t;

// Numbers for 48 consecutive elements: [0] of interleaved RGB, [1 + c] of channel c.
struct TableFormula {
  static constexpr int kPeriod = 48;
  float factor = 1;
  alignas(64) float mean[4][kPeriod] = {};
  alignas(64) float std[4][kPeriod] = {};
  alignas(64) float inverse[4][kPeriod] = {};
};

void set_formula(TableFormula& out, float factor, const float* mean, const float* std);

// What the fast ones below compute, one element at a time.
float formula_reference(const TableFormula& formula, int which, int place, std::uint8_t level);

// Elements 0, 1, ... of `levels`, as many as fill whole registers: returns their number.
int store_formula_avx2(std::byte* to, Dtype dtype, const std::uint8_t* levels, int count,
                       const TableFormula& formula, int which);
int store_formula_avx512(std::byte* to, Dtype dtype, const std::uint8_t* levels, int count,
                         const TableFormula& formula, int which);

}  // namespace tundish
