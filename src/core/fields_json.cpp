#include "core/fields_json.h"

#include <algorithm>

namespace tundish {

void refuse_argument(const std::string& owner, const std::string& text) {
  throw Error(ErrorCode::argument, {}, owner.empty() ? text : owner + ": " + text);
}

Json parse_json(const std::string& text) {
  const auto refuse_depth = [](int depth, Json::parse_event_t, Json&) {
    if (depth > kMaxJsonDepth) refuse_argument("", "the JSON is nested too deep");
    return true;
  };
  try {
    return Json::parse(text, refuse_depth);
  } catch (const nlohmann::json::exception& error) {
    refuse_argument("", fmt::format("it is not JSON: {}", printable(error.what())));
  }
}

std::string shown(const Json& value) {
  constexpr std::size_t kMost = 60;
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > kMost) text = text.substr(0, kMost) + "...";
  return text;
}

void refuse_unknown_names(const Json& from, const std::vector<std::string>& names,
                          const std::string& owner) {
  if (!from.is_object()) refuse_argument(owner, "the arguments must be a JSON object");
  for (const auto& [name, value] : from.items()) {
    if (name == "name" || std::find(names.begin(), names.end(), name) != names.end()) continue;
    refuse_argument(owner, fmt::format("there is no argument '{}'; there are: {}", printable(name),
                                       fmt::join(names, ", ")));
  }
}

bool read_size(Size& to, bool one_is_shorter_side, const Json& from) {
  std::vector<int> sides;
  if (!read_numbers(sides, from)) return false;
  if (sides.size() == 1) {
    to = {sides[0], one_is_shorter_side ? 0 : sides[0]};
    return true;
  }
  if (sides.size() != 2 || (one_is_shorter_side && sides[0] == 0)) return false;
  to = {sides[1], sides[0]};
  return true;
}

bool read_padding(Padding& to, const Json& from) {
  std::vector<int> sides;
  if (from.is_null()) {
    to = {};
    return true;
  }
  if (!read_numbers(sides, from)) return false;
  switch (sides.size()) {
    case 1:
      to = {sides[0], sides[0], sides[0], sides[0]};
      return true;
    case 2:
      to = {sides[0], sides[1], sides[0], sides[1]};
      return true;
    case 4:
      to = {sides[0], sides[1], sides[2], sides[3]};
      return true;
    default:
      return false;
  }
}

bool read_fill(Fill& to, const Json& from) {
  std::vector<std::uint8_t> levels;
  if (!read_numbers(levels, from)) return false;
  if (levels.size() == 1) levels.resize(3, levels[0]);
  if (levels.size() != 3) return false;
  std::copy(levels.begin(), levels.end(), to.begin());
  return true;
}

}  // namespace tundish
