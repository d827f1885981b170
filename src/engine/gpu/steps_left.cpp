#include "engine/gpu/steps_left.h"

#include <algorithm>

namespace tundish {
namespace {

std::uint32_t count_of(std::size_t size) { return static_cast<std::uint32_t>(size); }

}  // namespace

bool has_pixels_left(const Slot& slot) {
  return std::any_of(slot.places.begin(), slot.places.end(), [](const Place& place) {
    return place.filled && place.left.changes_pixels();
  });
}

StepsLeft steps_left(const Batch& batch, Dtype dtype) {
  StepsLeft out;
  if (!has_pixels_left(*batch.slot)) return out;
  for (const bool coded : {false, true}) {
    for (const std::size_t number : batch.places) {
      const Place& place = batch.slot->places[number];
      if (place.coded != coded) continue;
      const LeftToGpu& left = place.left;
      out.ranges.push_back({count_of(out.steps.size()), count_of(left.steps.size())});
      out.steps.insert(out.steps.end(), left.steps.begin(), left.steps.end());
      out.erased.push_back({count_of(out.erasures.size()), count_of(left.erasures.size())});
      for (const Erasure& one : left.erasures) {
        out.erasures.push_back(cuda::gpu_erasure(one, dtype));
      }
    }
  }
  return out;
}

}  // namespace tundish
