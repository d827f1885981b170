#include "data/source/formats/records/tf_class_names.h"

#include <fmt/format.h>

#include <charconv>

#include "base/error.h"
#include "data/source/names.h"

namespace tundish {

void TfClassNames::refuse(std::string reason) {
  refused_ = std::move(reason);
  names_.clear();
}

void TfClassNames::add(std::int64_t label, std::string_view name) {
  if (!refused_.empty() || label < 0 || name.empty()) return;
  if (const auto found = names_.find(label); found != names_.end()) {
    if (found->second == name) return;
    const auto shown = [](std::string_view text) {
      return printable(std::string(text.substr(0, 50)));
    };
    return refuse(
        fmt::format("label {} is '{}' and '{}'", label, shown(found->second), shown(name)));
  }
  bytes_ += name.size();
  if (label >= kMaxNames || bytes_ > kMaxTextBytes) return refuse("there are too many");
  names_.emplace(label, name);
}

void TfClassNames::add(const TfClassNames& others) {
  if (refused_.empty() && !others.refused_.empty()) refuse(others.refused_);
  for (const auto& [label, name] : others.names_) add(label, name);
}

std::vector<std::string> TfClassNames::names(std::string& reason) const {
  reason = refused_;
  std::vector<std::string> out;
  if (names_.empty()) return out;
  std::map<std::string_view, std::int64_t> labels;
  for (const auto& [label, name] : names_) {
    const auto [other, is_new] = labels.emplace(name, label);
    if (!is_new) {
      reason = fmt::format("labels {} and {} are both '{}'", other->second, label,
                           printable(name.substr(0, 50)));
      return {};
    }
  }
  for (const auto& [label, name] : names_) {
    while (out.size() < static_cast<std::size_t>(label)) {
      std::string number = std::to_string(out.size());
      while (labels.contains(number)) number += '_';
      out.push_back(std::move(number));
    }
    out.push_back(name);
  }
  return out;
}

std::string TfClassNames::text() const {
  if (!refused_.empty()) return "-" + refused_;
  std::string out;
  for (const auto& [label, name] : names_) out += fmt::format("{} {} {}", label, name.size(), name);
  return out;
}

std::optional<TfClassNames> TfClassNames::parse(std::string_view text) {
  TfClassNames out;
  if (text.starts_with('-')) {
    out.refuse(std::string(text.substr(1)));
    return out;
  }
  const auto number = [&](auto& value) {
    const char* const end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || at == end || *at != ' ') return false;
    text.remove_prefix(static_cast<std::size_t>(at - text.data()) + 1);
    return true;
  };
  while (!text.empty()) {
    std::int64_t label = 0;
    std::size_t length = 0;
    if (!number(label) || !number(length) || length > text.size()) return std::nullopt;
    out.add(label, text.substr(0, length));
    text.remove_prefix(length);
  }
  return out;
}

}  // namespace tundish
