#include "augment/pixel_table.h"

namespace tundish {
PixelValues::PixelValues() {
  for (auto& levels : value) {
    for (std::size_t i = 0; i < 256; ++i) levels[i] = static_cast<float>(i);
  }
}

void scale_to_one(PixelValues& values) {
  // torchvision multiplies by the float nearest to 1/255; dividing by 255 would differ.
  const auto factor = static_cast<float>(1.0 / values.largest);
  values.factor = factor;
  for (auto& levels : values.value) {
    for (float& x : levels) x *= factor;
  }
}

PixelTable make_pixel_table(const PixelValues& values) {
  PixelTable table{.dtype = values.dtype};
  for (std::size_t c = 0; c < 3; ++c) {
    for (std::size_t i = 0; i < 256; ++i) {
      table.value[c][i] = element_bits(values.value[c][i], values.dtype);
    }
  }
  if (values.dtype == Dtype::uint8 || values.normalizes > 1) return table;
  TableFormula formula;
  set_formula(formula, values.factor, values.mean.data(), values.std.data());
  for (int c = 0; c < 3; ++c) {
    for (unsigned i = 0; i < 256; ++i) {
      const float x = formula_reference(formula, 0, c, static_cast<std::uint8_t>(i));
      if (element_bits(x, values.dtype) != table.value[static_cast<std::size_t>(c)][i])
        return table;
    }
  }
  table.formula = formula;
  return table;
}

}  // namespace tundish
