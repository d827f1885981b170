// Transforms as JSON, and back again: [[name, arguments ...], ...]. In a saved state, and in what
// says whether a state belongs to a loader.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "augment/transforms.h"
#include "core/error.h"

namespace tundish {

nlohmann::ordered_json transforms_json(const Transforms& transforms);
// Throws Error(argument), and what nlohmann throws of JSON that is none of ours.
Transforms read_transforms(const nlohmann::ordered_json& from);

// An enumerator by its number.
template <class T>
T number_in(const nlohmann::ordered_json& json, int last) {
  const auto value = json.get<std::int64_t>();
  if (!json.is_number_integer() || value < 0 || value > last) {
    throw Error(ErrorCode::argument, {}, fmt::format("a recipe with the number {}", value));
  }
  return static_cast<T>(value);
}

}  // namespace tundish
