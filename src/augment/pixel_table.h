// The table that maps an 8-bit level to an element of the batch. ToDtype and Normalize work on
// single values, so a table of 3 x 256 values holds their result.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "augment/cpu/table_formula.h"
#include "augment/dtype.h"

namespace tundish {

// value[c][level] holds the bits of the element, of type `dtype`, in the low bytes.
struct PixelTable {
  Dtype dtype = Dtype::uint8;
  std::array<std::array<std::uint32_t, 256>, 3> value{};
  std::optional<TableFormula> formula{};  // set if it gives exactly the same values
  // One channel of 65,536 values for 16-bit levels; null otherwise. Shared by copies.
  std::shared_ptr<const std::vector<std::uint32_t>> wide{};
  // The table of the alpha, in its first channel; null without alpha. Shared by copies.
  std::shared_ptr<const PixelTable> alpha{};
};

// A table under construction. Each transform changes the values in turn, rounded to float32 like
// torchvision.
struct PixelValues {
  PixelValues();  // every level maps to itself

  Dtype dtype = Dtype::uint8;  // uint8: the values are levels
  double largest = 255;        // largest level
  bool of_alpha = false;       // the values belong to the alpha channel
  std::array<std::array<float, 256>, 3> value;
  // The same values as a formula, for TableFormula; valid with at most one Normalize.
  float factor = 1;
  std::array<float, 3> mean = {0, 0, 0}, std = {1, 1, 1};
  int normalizes = 0;
};

void scale_to_one(PixelValues& values);  // scales 0..largest to 0..1

// Builds the table; values are rounded to float16 or bfloat16 once, here.
PixelTable make_pixel_table(const PixelValues& values);

}  // namespace tundish
