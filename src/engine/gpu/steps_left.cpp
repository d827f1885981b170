#include "engine/gpu/steps_left.h"

#include <algorithm>

namespace tundish {

bool has_steps_left(const Slot& slot) {
  return std::any_of(slot.places.begin(), slot.places.end(),
                     [](const Place& place) { return place.filled && !place.steps.empty(); });
}

StepsLeft steps_left(const Batch& batch) {
  StepsLeft out;
  if (!has_steps_left(*batch.slot)) return out;
  for (const bool coded : {false, true}) {
    for (const std::size_t number : batch.places) {
      const Place& place = batch.slot->places[number];
      if (place.coded != coded) continue;
      out.ranges.push_back({static_cast<std::uint32_t>(out.steps.size()),
                            static_cast<std::uint32_t>(place.steps.size())});
      out.steps.insert(out.steps.end(), place.steps.begin(), place.steps.end());
    }
  }
  return out;
}

}  // namespace tundish
