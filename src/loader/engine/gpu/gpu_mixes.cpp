#include "loader/engine/gpu/gpu_mixes.h"

namespace tundish {

std::vector<cuda::GpuMix> gpu_mixes(const Batch& batch) {
  const Slot& slot = *batch.slot;
  std::vector<cuda::GpuMix> out;
  if (slot.mixes.empty()) return out;
  std::vector<cuda::ImageRef> images;  // one per place
  cuda::ImageRef decoded = 0;
  for (const Place& place : slot.places) {
    const cuda::ImageRef mirrored =
        place.filled && place.gpu_work.front().mirror ? cuda::kMirrored : 0;
    images.push_back(place.coded ? cuda::kDecoded | decoded
                                 : static_cast<cuda::ImageRef>(place.row) | mirrored);
    decoded += place.coded;
  }
  for (const std::size_t number : batch.places) {
    const PlaceMix& planned = slot.mixes[number];
    const bool mixes = planned.partner != number && slot.places[planned.partner].filled;
    const std::size_t partner = mixes ? planned.partner : number;
    const Mix mix = mixes ? planned.mix : Mix{};
    out.push_back({.own = images[number],
                   .partner = images[partner],
                   .kind = mix.kind,
                   .share = static_cast<float>(mix.share),
                   .rest = static_cast<float>(1.0 - mix.share),
                   .box = mix.box,
                   .label = slot.places[number].label,
                   .partner_label = slot.places[partner].label});
  }
  return out;
}

}  // namespace tundish
