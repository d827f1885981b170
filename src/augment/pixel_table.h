// The table that takes an 8-bit level to an element of the batch: ToDtype and Normalize are
// arithmetic on single values, so a table of 3 x 256 values holds their result.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "augment/cpu/table_formula.h"
#include "augment/dtype.h"

namespace tundish {

// value[c][level], as the bits of `dtype` in the low bytes.
struct PixelTable {
  Dtype dtype = Dtype::uint8;
  std::array<std::array<std::uint32_t, 256>, 3> value{};
  std::optional<TableFormula> formula{};  // when it gives the very same values
  // Of 16-bit levels, one channel of 65,536 values; null otherwise. Shared by copies.
  std::shared_ptr<const std::vector<std::uint32_t>> wide{};
  // Of the alpha, in its first channel; null without alpha. Shared by copies.
  std::shared_ptr<const PixelTable> alpha{};
};

// The table in the making: each transform changes the values in turn, rounded to float32 as
// torchvision does.
struct PixelValues {
  PixelValues();  // every level as it is

  Dtype dtype = Dtype::uint8;  // which stands for levels
  double largest = 255;        // level
  bool of_alpha = false;       // all channels are the fourth one of an image
  std::array<std::array<float, 256>, 3> value;
  // The same as arithmetic, for TableFormula; right while there is at most one Normalize.
  float factor = 1;
  std::array<float, 3> mean = {0, 0, 0}, std = {1, 1, 1};
  int normalizes = 0;
};

void scale_to_one(PixelValues& values);  // 0..largest becomes 0..1

// float16 and bfloat16 are rounded to once, here.
PixelTable make_pixel_table(const PixelValues& values);

}  // namespace tundish
