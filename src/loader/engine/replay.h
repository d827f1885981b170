// Which draws a batch was made of, and the plan of each.
#pragma once

#include <optional>

#include "base/fields_json.h"
#include "loader/engine/engine.h"

namespace tundish {

// One image of a batch.
struct ReplayedSample {
  std::uint64_t position = 0;  // global, of the epoch
  Draw draw;
  std::int64_t label = -1;
  std::string key;
  std::vector<std::uint64_t> replaces;  // bad samples that this one replaces
  std::vector<View> views;              // of each image
  Mix mix;                              // with the draw of `partner`
  std::optional<Draw> partner;
};

// The plans of a batch, one per image. Reads the heads of the images again. Throws SampleError.
std::vector<ReplayedSample> replayed(const Batch& batch, const Recipe& recipe);

// {position, sample, repeat, key, label, replaces, image, size, steps}; sizes are [width, height],
// windows [x, y, width, height]; steps: [{crop, size, keep, mirror_x, mirror_y, filter, pad}]. With
// several images of a sample: views: [{image, size, steps}] instead of these three. A mixed one
// also has mix: {partner (a sample), repeat, share, box (of CutMix)}.
Json replay_json(const ReplayedSample& sample);

}  // namespace tundish
