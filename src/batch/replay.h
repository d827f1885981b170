// A batch told in words: which draws it was made of and what was done to each.
#pragma once

#include <nlohmann/json.hpp>

#include "batch/engine.h"

namespace tundish {

// One image of a batch.
struct ReplayedSample {
  std::uint64_t position = 0;  // global, of the epoch
  Draw draw;
  std::int64_t label = -1;
  std::string key;
  std::vector<std::uint64_t> replaces;  // bad samples that this one stands in for
  View view{Size{}};
};

// The plans of a batch, one per image. Reads the heads of the images again. Throws SampleError.
std::vector<ReplayedSample> replayed(const Batch& batch, const Recipe& recipe);

// {position, sample, repeat, key, label, replaces, image, size, stages}; sizes are [width, height],
// windows [x, y, width, height]; stages: [{crop, size, keep, mirror_x, mirror_y, filter, pad}].
nlohmann::ordered_json replay_json(const ReplayedSample& sample);

// What a state says about how its loader was made, and back again: all that the next batch of a
// rank depends on, but for the seed and the rank. Lists of sample numbers and weights are not in
// it: `given` then tells that the order cannot be made from it.
nlohmann::ordered_json recipe_json(const EngineOptions& options);
struct RecipeRead {
  EngineOptions options;
  bool given = false;
};
RecipeRead read_recipe(const nlohmann::ordered_json& recipe);  // throws Error(argument)

// A number that a state holds. Throws Error(argument) that names it unless it is a whole number
// from `least` to `most`: a state may come from anywhere. Throws what nlohmann throws when it is
// missing.
std::uint64_t whole_number(const nlohmann::ordered_json& from, const char* name,
                           std::uint64_t least, std::uint64_t most);
inline constexpr std::uint64_t kMaxEpoch = (1ull << 63) - 1;  // as in Python

}  // namespace tundish
