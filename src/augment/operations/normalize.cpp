#include "augment/operations/normalize.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <utility>
#include <vector>

namespace tundish {

namespace {

bool are_equal(const PerChannel& numbers) {
  return numbers[0] == numbers[1] && numbers[0] == numbers[2];
}

// Returns all numbers, one per channel.
std::vector<double> all_of(const PerChannel& numbers) {
  std::vector<double> out(numbers.begin(), numbers.end());
  if (numbers.fourth) out.push_back(*numbers.fourth);
  return out;
}

}  // namespace

void Normalize::check() const {
  for (const double one : all_of(mean)) {
    if (!std::isfinite(static_cast<float>(one))) {
      refuse_argument(kName, fmt::format("mean must be finite as float32, not {}", one));
    }
  }
  for (const double one : all_of(this->std)) {
    const auto value = static_cast<float>(one);
    if (value == 0.0f || !std::isfinite(value)) {
      refuse_argument(kName, fmt::format("std must be finite as float32 and not 0, not {}", one));
    }
  }
}

void Normalize::check_mode(ImageMode mode) const {
  for (const auto& [name, numbers] : {std::pair{"mean", mean}, std::pair{"std", this->std}}) {
    if (mode == ImageMode::rgba && !numbers.fourth && !are_equal(numbers)) {
      refuse_argument(kName,
                      fmt::format("{} must be four numbers with mode=\"RGBA\", or one for all "
                                  "channels, not ({})",
                                  name, fmt::join(all_of(numbers), ", ")));
    }
    if (mode != ImageMode::rgba && numbers.fourth) {
      refuse_argument(kName,
                      fmt::format("{} has four numbers, ({}), which only mode=\"RGBA\" takes", name,
                                  fmt::join(all_of(numbers), ", ")));
    }
  }
}

void Normalize::apply(PixelValues& values) const {
  if (values.dtype == Dtype::uint8) scale_to_one(values);
  values.dtype = result_dtype(values.dtype);
  for (std::size_t c = 0; c < 3; ++c) {
    values.mean[c] = static_cast<float>(values.of_alpha ? mean.fourth.value_or(mean[0]) : mean[c]);
    values.std[c] = static_cast<float>(values.of_alpha ? std.fourth.value_or(std[0]) : std[c]);
    for (float& x : values.value[c]) {
      const float centered = x - values.mean[c];  // two roundings to float32; must not be fused
      x = centered / values.std[c];
    }
  }
  ++values.normalizes;
}

}  // namespace tundish
