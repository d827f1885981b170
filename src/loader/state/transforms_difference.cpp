#include "loader/state/transforms_difference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tundish {
namespace {

std::string name_of(const Json& transform) {
  return shown_text(transform.value("name", std::string("?")));
}

// The JSON omits arguments with default values.
std::string value_text(const Json& transform, const std::string& argument) {
  const auto found = transform.find(argument);
  return found == transform.end() ? "its default" : shown(*found);
}

std::string list_difference(const std::string& list, const Json& saved, const Json& here);

// Describes the difference between two transforms of the same name.
std::string argument_difference(const std::string& place, const Json& saved, const Json& here) {
  Json both = saved;
  both.update(here);
  std::vector<std::string> out;
  for (const auto& [argument, value] : both.items()) {
    if (saved.value(argument, Json()) == here.value(argument, Json())) continue;
    if (argument == "transforms") {
      const Json none = Json::array();
      return list_difference(place + ", " + name_of(saved) + ": transforms",
                             saved.value(argument, none), here.value(argument, none));
    }
    out.push_back(fmt::format("{}={}, here {}", shown_text(argument), value_text(saved, argument),
                              value_text(here, argument)));
  }
  return fmt::format("{}, {}: {}", place, name_of(saved), fmt::join(out, "; "));
}

std::string list_difference(const std::string& list, const Json& saved, const Json& here) {
  for (std::size_t i = 0; i < std::max(saved.size(), here.size()); ++i) {
    const std::string place = fmt::format("{}[{}]", list, i);
    if (i >= here.size()) return fmt::format("{} is {}, here nothing", place, name_of(saved[i]));
    if (i >= saved.size()) return fmt::format("{} is nothing, here {}", place, name_of(here[i]));
    if (saved[i] == here[i]) continue;
    if (name_of(saved[i]) == name_of(here[i])) {
      return argument_difference(place, saved[i], here[i]);
    }
    return fmt::format("{} is {}, here {}", place, name_of(saved[i]), name_of(here[i]));
  }
  return list + " is the same";
}

bool is_views(const Json& lists) { return !lists.empty() && lists.front().is_array(); }

}  // namespace

std::string transforms_difference(const Json& saved, const Json& here) {
  if (is_views(saved) != is_views(here)) {
    return is_views(saved) ? "views, here transforms" : "transforms, here views";
  }
  if (!is_views(saved)) return list_difference("transforms", saved, here);
  if (saved.size() != here.size()) {
    return fmt::format("{} views, here {}", saved.size(), here.size());
  }
  for (std::size_t i = 0; i < saved.size(); ++i) {
    if (saved[i] != here[i]) {
      return list_difference(fmt::format("views[{}]", i), saved[i], here[i]);
    }
  }
  return "views are the same";
}

}  // namespace tundish
