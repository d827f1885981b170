// The recipe of a loader as JSON, inside its state: so `tundish replay` needs the state alone.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "batch/replay.h"

namespace tundish {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const RandomResizedCrop& op) {
  return {"random_resized_crop",      op.size.width, op.size.height, op.scale, op.ratio,
          static_cast<int>(op.filter)};
}
Json json_of(const Resize& op) {
  return {"resize", op.size.width, op.size.height, op.max_size, static_cast<int>(op.filter)};
}
Json json_of(const CenterCrop& op) { return {"center_crop", op.size.width, op.size.height}; }
Json json_of(const RandomCrop& op) {
  return {"random_crop", op.size.width,    op.size.height,
          op.padding,    op.pad_if_needed, static_cast<int>(op.pad_mode),
          op.fill};
}
Json json_of(const RandomHorizontalFlip& op) { return {"random_horizontal_flip", op.p}; }
Json json_of(const RandomVerticalFlip& op) { return {"random_vertical_flip", op.p}; }
Json json_of(const Normalize& op) { return {"normalize", op.mean, op.std}; }
Json json_of(const ToDtype& op) { return {"to_dtype", static_cast<int>(op.dtype), op.scale}; }

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

template <class T>
T number_in(const Json& json, int last) {
  const int value = json.get<int>();
  if (value < 0 || value > last) {
    throw Error(ErrorCode::argument, {}, fmt::format("a recipe with the number {}", value));
  }
  return static_cast<T>(value);
}

Transform transform_of(const Json& from) {
  const std::string name = from.at(0).get<std::string>();
  const auto size = [&] { return Size{from.at(1).get<int>(), from.at(2).get<int>()}; };
  if (name == "random_resized_crop") {
    return RandomResizedCrop{.size = size(),
                             .scale = from.at(3),
                             .ratio = from.at(4),
                             .filter = number_in<Filter>(from.at(5), 2)};
  }
  if (name == "resize") {
    return Resize{
        .size = size(), .max_size = from.at(3), .filter = number_in<Filter>(from.at(4), 2)};
  }
  if (name == "center_crop") return CenterCrop{size()};
  if (name == "random_crop") {
    return RandomCrop{.size = size(),
                      .padding = from.at(3),
                      .pad_if_needed = from.at(4),
                      .pad_mode = number_in<PadMode>(from.at(5), 3),
                      .fill = from.at(6)};
  }
  if (name == "random_horizontal_flip") return RandomHorizontalFlip{from.at(1)};
  if (name == "random_vertical_flip") return RandomVerticalFlip{from.at(1)};
  if (name == "normalize") return Normalize{.mean = from.at(1), .std = from.at(2)};
  if (name == "to_dtype") return ToDtype{number_in<Dtype>(from.at(1), 3), from.at(2)};
  throw Error(ErrorCode::argument, {},
              fmt::format("a recipe with the unknown transform '{}'", printable(name)));
}

}  // namespace

Json recipe_json(const EngineOptions& options) {
  const SamplingOptions& sampling = options.sampling;
  Json transforms = Json::array();
  for (const Transform& transform : options.transforms) {
    transforms.push_back(std::visit([](const auto& op) { return json_of(op); }, transform));
  }
  Json out{{"shuffle", options.shuffle},
           {"transforms", std::move(transforms)},
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
    for (const Json& one : recipe.at("transforms")) {
      out.options.transforms.push_back(transform_of(one));
    }
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
