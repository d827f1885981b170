// The draws of a batch, and the plan of each draw.
#pragma once

#include <optional>

#include "base/fields_json.h"
#include "loader/engine/engine.h"

namespace tundish {

// One image of a batch.
struct ReplayedSample {
  std::uint64_t position = 0;  // global position in the epoch
  Draw draw;
  std::int64_t label = -1;
  std::string key;
  std::vector<std::uint64_t> replaces;  // bad samples that this sample replaces
  std::vector<View> views;              // one per image
  Mix mix;                              // mix with `partner`
  std::optional<Draw> partner;
};

// Returns the plans of a batch, one per image. Reads the image headers again. Throws SampleError.
std::vector<ReplayedSample> replayed(const Batch& batch, const Recipe& recipe);

// {position, sample, repeat, key, label, replaces, image, size, steps}; sizes are [width, height],
// windows [x, y, width, height]; steps: [{crop, size, keep, mirror_x, mirror_y, filter, pad}]. With
// several images per sample, views: [{image, size, steps}] replaces the last three. A mixed sample
// also has mix: {partner (a sample), repeat, share, box (for CutMix)}.
Json replay_json(const ReplayedSample& sample);

}  // namespace tundish
