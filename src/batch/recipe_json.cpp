// The recipe of a loader as JSON, inside its state: so `tundish replay` needs the state alone.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "batch/replay.h"
#include "batch/transforms_json.h"

namespace tundish {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array kUneven = {"pad", "drop", "exact"};  // by their numbers
constexpr std::array kOnError = {"substitute", "skip", "fail"};

template <class T>
T word_in(const Json& json, const std::array<const char*, 3>& words) {
  const auto at = std::find(words.begin(), words.end(), json.get<std::string>());
  if (at == words.end()) {
    throw Error(ErrorCode::argument, {}, "a recipe with an unknown word: " + json.dump());
  }
  return static_cast<T>(at - words.begin());
}

}  // namespace

Json recipe_json(const EngineOptions& options) {
  const SamplingOptions& sampling = options.sampling;
  Json out{{"shuffle", options.shuffle},
           {"transforms", transforms_json(options.transforms)},
           {"batch_size", options.batch_size},
           {"world_size", options.world_size},
           {"uneven", kUneven[static_cast<std::size_t>(options.uneven)]},
           {"on_error", kOnError[static_cast<std::size_t>(options.on_error)]}};
  if (options.exif_orientation) out["exif_orientation"] = true;
  if (sampling.sampling != Sampling::every) out["sampling"] = static_cast<int>(sampling.sampling);
  if (sampling.draws) out["draws"] = sampling.draws;
  if (sampling.repeats > 1) out["repeats"] = sampling.repeats;
  if (!sampling.samples.empty() || !sampling.weights.empty() || !sampling.group_sizes.empty() ||
      !options.labels.empty()) {
    out["given"] = true;
  }
  return out;
}

RecipeRead read_recipe(const Json& recipe) {
  try {
    RecipeRead out;
    out.options.shuffle = recipe.at("shuffle").get<bool>();
    out.options.transforms = read_transforms(recipe.at("transforms"));
    out.options.batch_size = recipe.at("batch_size").get<std::uint32_t>();
    out.options.world_size = recipe.at("world_size").get<std::uint32_t>();
    out.options.uneven = word_in<Uneven>(recipe.at("uneven"), kUneven);
    out.options.on_error = word_in<OnError>(recipe.at("on_error"), kOnError);
    out.options.exif_orientation = recipe.value("exif_orientation", false);
    out.options.sampling.sampling = number_in<Sampling>(recipe.value("sampling", Json(0)), 2);
    out.options.sampling.draws = recipe.value("draws", std::uint64_t{0});
    out.options.sampling.repeats = recipe.value("repeats", std::uint32_t{1});
    out.given = recipe.value("given", false);
    return out;
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorCode::argument, {}, fmt::format("a recipe that is none: {}", error.what()));
  }
}

}  // namespace tundish
