#include "base/fields_json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <set>

#include "base/utf8.h"

namespace tundish {
namespace {

// Callback of the parser for every part of the text. Runs before a key's value is allocated.
class CheckJson {
 public:
  bool operator()(int depth, Json::parse_event_t event, const Json& part) {
    if (depth > kMaxJsonDepth) refuse_argument("", "the JSON is nested too deep");
    const auto at = static_cast<std::size_t>(depth);
    if (event == Json::parse_event_t::object_start) keys_[at + 1].clear();
    if (event == Json::parse_event_t::key) check_key(keys_[at], part.get_ref<const std::string&>());
    return true;
  }

 private:
  static void check_key(std::set<std::string>& keys, const std::string& key) {
    if (keys.size() == kMaxJsonKeys) {
      refuse_argument("", fmt::format("an object of the JSON has more than {} keys", kMaxJsonKeys));
    }
    if (keys.insert(key).second) return;
    refuse_argument("", fmt::format("the JSON has '{}' twice in one object", shown_text(key)));
  }

  std::array<std::set<std::string>, kMaxJsonDepth + 2> keys_;  // keys of the open objects, by depth
};

}  // namespace

Json parse_json(const std::string& text) {
  // The parser would stop at a zero byte and silently ignore the rest.
  if (text.find('\0') != std::string::npos) refuse_argument("", "it is not JSON: a byte is zero");
  CheckJson check;
  try {
    return Json::parse(text, std::ref(check));
  } catch (const nlohmann::json::exception& error) {
    refuse_argument("", fmt::format("it is not JSON: {}", shown_text(error.what(), 200)));
  }
}

std::string shown(const Json& value) {
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > kMaxShown) text = text.substr(0, kMaxShown) + "...";
  return text;
}

std::string shown_text(const std::string& text, std::size_t most) {
  if (text.size() <= most) return printable(text);
  std::size_t end = 0;  // moves back to a character boundary
  for (std::size_t next = 0; next <= most;
       next += std::max<std::size_t>(1, utf8_length(std::string_view(text).substr(next)))) {
    end = next;
  }
  return printable(text.substr(0, end)) + "...";
}

Json changed_fields(std::vector<FieldValue> fields, const std::vector<FieldValue>& usual,
                    bool saved) {
  Json out = Json::object();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    auto& [field, value] = fields[i];
    if (value != usual[i].value && (field.saved || !saved)) out[field.name] = std::move(value);
  }
  return out;
}

FieldReader::FieldReader(const Json& from, const std::string& owner, bool saved)
    : from_(from), owner_(owner), saved_(saved) {}

const Json* FieldReader::find(const FieldInfo& field) {
  if (saved_ && !field.saved) return nullptr;
  names_.emplace_back(field.name);
  const auto found = from_.find(field.name);
  return found == from_.end() ? nullptr : &*found;
}

void FieldReader::refuse(const FieldInfo& field, const std::string& wanted) const {
  refuse_argument(owner_, fmt::format("{} must be {}, not {}", field.name, wanted,
                                      shown(*from_.find(field.name))));
}

void FieldReader::refuse_unknown_names() const {
  if (!from_.is_object()) refuse_argument(owner_, "the arguments must be a JSON object");
  for (const auto& [name, value] : from_.items()) {
    if (name == "name" || std::find(names_.begin(), names_.end(), name) != names_.end()) continue;
    refuse_argument(owner_, fmt::format("there is no argument '{}'; there are: {}",
                                        shown_text(name), fmt::join(names_, ", ")));
  }
}

Json field_reference(const FieldInfo& field, const std::string& wanted, Json usual) {
  return {{"name", field.name},
          {"wanted", wanted},
          {"default", std::move(usual)},
          {"about", field.about}};
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

bool read_epoch(std::uint64_t& to, const std::string& from) {
  const auto [end, error] = std::from_chars(from.data(), from.data() + from.size(), to);
  return error == std::errc{} && std::to_string(to) == from;
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
  if (from.is_null()) {  // None in torchvision
    to = {};
    return true;
  }
  std::vector<std::uint8_t> levels;
  if (!read_numbers(levels, from)) return false;
  if (levels.size() == 1) levels.resize(3, levels[0]);
  if (levels.size() != 3) return false;
  std::copy(levels.begin(), levels.end(), to.begin());
  return true;
}

bool read_per_channel(PerChannel& to, const Json& from) {
  std::vector<double> numbers;
  if (!read_numbers(numbers, from)) return false;
  if (numbers.size() == 1) numbers.resize(3, numbers[0]);
  if (numbers.size() != 3 && numbers.size() != 4) return false;
  std::copy_n(numbers.begin(), 3, to.begin());
  to.fourth.reset();
  if (numbers.size() == 4) to.fourth = numbers[3];
  return true;
}

bool read_spread(double& low, double& high, const Json& from) {
  if (from.is_null()) return true;
  std::vector<double> numbers;
  if (!read_numbers(numbers, from)) return false;
  if (from.is_array()) {
    if (numbers.size() != 2) return false;
    low = numbers[0];
    high = numbers[1];
    return true;
  }
  const double least = low > 0 ? 0.0 : -kUnlimited;
  low = std::max(low - numbers[0], least);
  high += numbers[0];
  return numbers[0] >= 0;
}

}  // namespace tundish
