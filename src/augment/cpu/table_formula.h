// The table of pixel values as a formula, used if it gives the same bits for every level:
// (level * factor - mean) / std. The division is a product and one correction step.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tundish {

enum class Dtype : std::uint8_t;

// Constants for 48 consecutive elements: [0] for interleaved RGB, [1 + c] for channel c.
struct TableFormula {
  static constexpr int kPeriod = 48;
  float factor = 1;
  alignas(64) float mean[4][kPeriod] = {};
  alignas(64) float std[4][kPeriod] = {};
  alignas(64) float inverse[4][kPeriod] = {};
};

void set_formula(TableFormula& out, float factor, const float* mean, const float* std);

// Computes one element as the vectorized functions below do.
float formula_reference(const TableFormula& formula, int which, int place, std::uint8_t level);

// Computes elements 0, 1, ... for as many `levels` as fill whole registers; returns their number.
int store_formula_avx2(std::byte* to, Dtype dtype, const std::uint8_t* levels, int count,
                       const TableFormula& formula, int which);
int store_formula_avx512(std::byte* to, Dtype dtype, const std::uint8_t* levels, int count,
                         const TableFormula& formula, int which);

}  // namespace tundish
