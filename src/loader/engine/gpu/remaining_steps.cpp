#include "loader/engine/gpu/remaining_steps.h"

#include <algorithm>

namespace tundish {
namespace {

std::uint32_t count_of(std::size_t size) { return static_cast<std::uint32_t>(size); }

}  // namespace

ImageRange images_of_view(const Recipe& recipe, std::size_t view) {
  ImageRange out{.first = 0, .count = recipe.views[view].crops};
  for (std::size_t v = 0; v < view; ++v) out.first += recipe.views[v].crops;
  return out;
}

bool gpu_changes_pixels(const Slot& slot, const ImageRange& images) {
  return std::any_of(slot.places.begin(), slot.places.end(), [&](const Place& place) {
    if (!place.filled) return false;
    const auto first = place.gpu_work.begin() + static_cast<std::ptrdiff_t>(images.first);
    return std::any_of(first, first + static_cast<std::ptrdiff_t>(images.count),
                       [](const GpuWork& work) { return work.changes_pixels(); });
  });
}

RemainingSteps remaining_steps(const Batch& batch, const ImageRange& images, Dtype dtype) {
  RemainingSteps out;
  if (batch.slot->mixes.empty() && !gpu_changes_pixels(*batch.slot, images)) return out;
  std::vector<std::size_t> places = batch.places;
  places.insert(places.end(), batch.foreign_partners.begin(), batch.foreign_partners.end());
  for (const bool coded : {false, true}) {
    for (std::size_t i = 0; i < places.size() * images.count; ++i) {
      const Place& place = batch.slot->places[places[i / images.count]];
      if (place.coded != coded) continue;
      const GpuWork& work = place.gpu_work[images.first + i % images.count];
      out.ranges.push_back({count_of(out.steps.size()), count_of(work.steps.size())});
      out.steps.insert(out.steps.end(), work.steps.begin(), work.steps.end());
      out.erased.push_back({count_of(out.erasures.size()), count_of(work.erasures.size())});
      for (const Erasure& one : work.erasures) {
        out.erasures.push_back(cuda::gpu_erasure(one, dtype));
      }
    }
  }
  return out;
}

}  // namespace tundish
