#include "cli/view/level_finder.h"

#include <algorithm>
#include <bit>

#include "augment/transform.h"

namespace tundish::cli {

Transforms in_float32(const Transforms& transforms) {
  std::vector<Transform> out = transforms.list();
  for (Transform& transform : out) {
    ToDtype* const to = std::get_if<ToDtype>(&transform);
    if (to && to->dtype != Dtype::uint8) to->dtype = Dtype::float32;
  }
  return out;
}

LevelFinder::LevelFinder(const PixelTable& table) : elements_() {
  for (std::size_t c = 0; c < elements_.size(); ++c) {
    const PixelTable& of_channel = c == 3 && table.alpha ? *table.alpha : table;
    for (std::size_t level = 0; level < 256; ++level) {
      const std::uint32_t bits = of_channel.value[c % 3][level];
      const float element =
          table.dtype == Dtype::uint8 ? static_cast<float>(bits) : std::bit_cast<float>(bits);
      elements_[c][level] = {element, static_cast<std::uint8_t>(level)};
    }
    std::sort(elements_[c].begin(), elements_[c].end());  // a negative std reverses the order
  }
}

std::uint8_t LevelFinder::level(float element, std::size_t channel) const {
  const auto& all = elements_[channel];
  const auto after = std::lower_bound(all.begin(), all.end(), std::pair{element, std::uint8_t{0}});
  if (after == all.begin()) return all.front().second;
  if (after == all.end()) return all.back().second;
  const auto before = std::prev(after);
  return element - before->first < after->first - element ? before->second : after->second;
}

}  // namespace tundish::cli
