// The recipe of a loader as JSON, inside its state: so `tundish replay` needs the state alone.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "batch/replay.h"
#include "batch/transforms_json.h"

namespace tundish {
namespace {

using Json = nlohmann::ordered_json;

// What the arguments of a loader may be at most; python/tundish/checks.py and order.py say the
// same.
constexpr std::uint64_t kMaxCount = (1ull << 31) - 1;
constexpr std::uint64_t kMaxDraws = 1ull << 48;

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

// Texts of numbers are short; what else stands there may be long, or too deep to be written out.
std::string shown(const Json& value) {
  const bool is_short = value.is_number() || value.is_boolean() || value.is_null() ||
                        (value.is_string() && value.get_ref<const std::string&>().size() < 40);
  return is_short ? value.dump() : std::string(value.type_name());
}

}  // namespace

std::uint64_t whole_number(const Json& from, const char* name, std::uint64_t least,
                           std::uint64_t most) {
  const Json& value = from.at(name);
  if (!value.is_number_unsigned()) {
    throw Error(ErrorCode::argument, {},
                fmt::format("its {} is {} and not a whole number from {} to {}; a state is what "
                            "loader.state_dict() gave, unchanged",
                            name, shown(value), with_commas(least), with_commas(most)));
  }
  const auto number = value.get<std::uint64_t>();
  if (number < least || number > most) {
    throw Error(ErrorCode::argument, {},
                fmt::format("its {} is {}, and may be from {} to {}; a state is what "
                            "loader.state_dict() gave, unchanged",
                            name, with_commas(number), with_commas(least), with_commas(most)));
  }
  return number;
}

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
    const auto count = [&](const char* name) {
      return static_cast<std::uint32_t>(whole_number(recipe, name, 1, kMaxCount));
    };
    out.options.batch_size = count("batch_size");
    out.options.world_size = count("world_size");
    out.options.uneven = word_in<Uneven>(recipe.at("uneven"), kUneven);
    out.options.on_error = word_in<OnError>(recipe.at("on_error"), kOnError);
    out.options.exif_orientation = recipe.value("exif_orientation", false);
    out.options.sampling.sampling = number_in<Sampling>(recipe.value("sampling", Json(0)), 2);
    if (recipe.contains("draws")) {
      out.options.sampling.draws = whole_number(recipe, "draws", 1, kMaxDraws);
    }
    if (recipe.contains("repeats")) out.options.sampling.repeats = count("repeats");
    out.given = recipe.value("given", false);
    return out;
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorCode::argument, {}, fmt::format("a recipe that is none: {}", error.what()));
  }
}

}  // namespace tundish
