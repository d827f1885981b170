#include "augment/operations/normalize.h"

#include <cmath>

namespace tundish {

void Normalize::check() const {
  for (const double one : mean) {
    if (!std::isfinite(static_cast<float>(one))) {
      refuse_argument(kName, fmt::format("mean must be finite as float32, not {}", one));
    }
  }
  for (const double one : this->std) {
    const auto value = static_cast<float>(one);
    if (value == 0.0f || !std::isfinite(value)) {
      refuse_argument(kName, fmt::format("std must be finite as float32 and not 0, not {}", one));
    }
  }
}

void Normalize::apply(PixelValues& values) const {
  if (values.dtype == Dtype::uint8) scale_to_one(values);
  values.dtype = result_dtype(values.dtype);
  for (std::size_t c = 0; c < 3; ++c) {
    values.mean[c] = static_cast<float>(mean[c]);
    values.std[c] = static_cast<float>(std[c]);
    for (float& x : values.value[c]) {
      const float centered = x - values.mean[c];  // two roundings to float32, never fused into one
      x = centered / values.std[c];
    }
  }
  ++values.normalizes;
}

}  // namespace tundish
