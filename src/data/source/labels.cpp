#include "data/source/labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>

#include "base/error.h"
#include "base/interruption.h"
#include "data/source/names.h"
#include "data/source/number.h"
#include "data/source/source.h"

namespace tundish {
namespace {

constexpr std::string_view kClassList = "tundish classes ";

// Parses "7", "-1", and "7.0", which tables contain if a column once had missing values.
std::optional<std::int64_t> parse_whole(std::string_view text) {
  std::int64_t whole = 0;
  const char* end = text.data() + text.size();
  if (const auto [at, error] = std::from_chars(text.data(), end, whole);
      error == std::errc() && at == end) {
    return whole;
  }
  const std::optional<double> number = parse_number(text);
  if (!number || std::abs(*number) > 0x1p53 || *number != std::floor(*number)) return {};
  return static_cast<std::int64_t>(*number);
}

}  // namespace

std::vector<std::size_t> count_earlier(const std::vector<std::string>& names) {
  std::map<std::string_view, std::size_t> counts;
  std::vector<std::size_t> out;
  out.reserve(names.size());
  for (const std::string& name : names) out.push_back(counts[name]++);
  return out;
}

std::optional<LabelFault> make_labels(Labels& out, const StringTable& texts, MixedLabels mixed) {
  out = {};
  std::optional<std::size_t> number, name;  // the first of each kind
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (texts[i].empty()) return LabelFault{i, "the label is empty"};
    std::optional<std::size_t>& first = parse_number(texts[i]) ? number : name;
    if (!first) first = i;
  }
  if (name && number && mixed == MixedLabels::refused) {
    return LabelFault{
        *name,
        fmt::format("the label '{}' is no number, but others are, such as '{}'",
                    printable(std::string(texts[*name])), printable(std::string(texts[*number])))};
  }
  if (name) {
    number_names(out, texts);
    return {};
  }
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::optional<std::int64_t> label = parse_label(texts[i]);
    if (!label) {
      return LabelFault{i, fmt::format("the label '{}' is no whole number from 0 on (-1 for none)",
                                       printable(std::string(texts[i])))};
    }
    out.values.push_back(*label);
  }
  return {};
}

std::optional<std::int64_t> parse_label(std::string_view text) {
  const std::optional<std::int64_t> label = parse_whole(text);
  return label && *label >= -1 ? label : std::nullopt;
}

std::string NumberedClasses::add(std::int64_t number, std::string_view name) {
  const auto shown = [](std::string_view text) {
    return printable(std::string(text.substr(0, 60)));
  };
  if (number < 0) return fmt::format("'{}' is the class of no label", shown(name));
  const auto [found, is_new] = names_.emplace(number, name);
  if (is_new || found->second == name) return {};
  return fmt::format("class {} is '{}' and '{}'", number, shown(found->second), shown(name));
}

std::string NumberedClasses::take(std::vector<std::string>& out) {
  for (auto& [number, name] : names_) {
    if (number != static_cast<std::int64_t>(out.size())) {
      return fmt::format("class {} has no name, but class {} has", out.size(), number);
    }
    out.push_back(std::move(name));
  }
  return {};
}

std::string renumbering_warning(const std::vector<std::string>& classes) {
  std::optional<std::size_t> name, changed;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    const std::optional<std::int64_t> number = parse_label(classes[c]);
    std::optional<std::size_t>& first = number ? changed : name;
    if (!first && number != static_cast<std::int64_t>(c)) first = c;
  }
  if (!name || !changed) return "";
  return fmt::format(
      "the label '{}' is no number, so all labels are names of classes, numbered in the order of "
      "their names: the label '{}' becomes {}",
      printable(classes[*name]), printable(classes[*changed]), *changed);
}

void number_names(Labels& out, const StringTable& texts) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < texts.size(); ++i) names.push_back(texts[i]);
  std::sort(names.begin(), names.end(), [](std::string_view a, std::string_view b) {
    check_stop({});
    return name_before(a, b);
  });
  names.erase(std::unique(names.begin(), names.end()), names.end());
  out.values.clear();
  for (std::size_t i = 0; i < texts.size(); ++i) {
    out.values.push_back(std::lower_bound(names.begin(), names.end(), texts[i], name_before) -
                         names.begin());
  }
  out.classes.assign(names.begin(), names.end());
}

bool may_mean_label(const std::string& name) {
  constexpr std::array kOthers = {"target", "targets", "category", "categories", "y"};
  return name.find("label") != name.npos || name.find("class") != name.npos ||
         std::find(kOthers.begin(), kOthers.end(), name) != kOthers.end();
}

std::string label_advice(std::string_view label) {
  const std::optional<double> number = parse_number(label);
  if (!number || *number == std::floor(*number)) return "";
  return "; for a number per class use a column 'label:NAME' for each class";
}

std::string class_name(const Schema& schema, std::int64_t label) {
  if (label < 0 || static_cast<std::uint64_t>(label) >= schema.classes.size()) return {};
  return schema.classes[static_cast<std::size_t>(label)];
}

std::string class_list_text(const std::vector<std::string>& classes) {
  std::string out(kClassList);
  for (const std::string& name : classes) out += std::to_string(name.size()) + ':' + name + ',';
  return out;
}

std::optional<std::vector<std::string>> read_class_list(std::string_view text) {
  if (!text.starts_with(kClassList)) return std::nullopt;
  text.remove_prefix(kClassList.size());
  std::vector<std::string> out;
  while (!text.empty()) {
    std::size_t length = 0;
    const char* const end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, length);
    if (error != std::errc{} || at == end || *at != ':') return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(at - text.data()) + 1);
    if (text.size() < 1 || length > text.size() - 1 || text[length] != ',') return std::nullopt;
    out.emplace_back(text.substr(0, length));
    text.remove_prefix(length + 1);
  }
  return out;
}

}  // namespace tundish
