#include "augment/operations/policies/timm_config.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <string_view>
#include <vector>

#include "base/fields_json.h"

namespace tundish {
namespace {

using enum TimmOp;

constexpr WeightedTimmOp kPlain[] = {
    {auto_contrast}, {equalize},     {invert},  {rotate},          {posterize},
    {solarize},      {solarize_add}, {color},   {contrast},        {brightness},
    {sharpness},     {shear_x},      {shear_y}, {translate_x_rel}, {translate_y_rel},
};
constexpr WeightedTimmOp kIncreasing[] = {
    {auto_contrast},
    {equalize},
    {invert},
    {rotate},
    {posterize_increasing},
    {solarize_increasing},
    {solarize_add},
    {color_increasing},
    {contrast_increasing},
    {brightness_increasing},
    {sharpness_increasing},
    {shear_x},
    {shear_y},
    {translate_x_rel},
    {translate_y_rel},
};
constexpr WeightedTimmOp kThreeAugment[] = {{solarize_increasing}, {desaturate}, {gaussian_blur}};
constexpr WeightedTimmOp kThreeAugmentWeighted[] = {
    {solarize_increasing, 6},
    {desaturate, 6},
    {gaussian_blur, 6},
    {rotate, 3},
    {shear_x, 2},
    {shear_y, 2},
    {posterize_increasing, 1},
    {auto_contrast, 1},
    {color_increasing, 1},
    {sharpness_increasing, 1},
    {contrast_increasing, 1},
    {brightness_increasing, 1},
    {equalize, 1},
    {invert, 1},
};
constexpr WeightedTimmOp kWeighted[] = {
    {rotate, 3},
    {shear_x, 2},
    {shear_y, 2},
    {translate_x_rel, 1},
    {translate_y_rel, 1},
    {color_increasing, 0.25},
    {sharpness_increasing, 0.25},
    {auto_contrast, 0.25},
    {solarize_increasing, 0.05},
    {solarize_add, 0.05},
    {contrast_increasing, 0.05},
    {brightness_increasing, 0.05},
    {equalize, 0.05},
    {posterize_increasing, 0.05},
    {invert, 0.05},
};

// The sections of a config: a key and a value that starts with a digit, or "t" and a name.
class Sections {
 public:
  Sections(const char* owner, const std::string& text) : owner_(owner), text_(text) {
    std::string_view left = text_;
    head = take(left);
    while (!left.empty()) {
      left.remove_prefix(1);  // skips the dash
      list_.push_back(split(take(left)));
    }
  }

  [[noreturn]] void refuse(const std::string& why) const {
    refuse_argument(owner_, fmt::format("config \"{}\": {}", shown_text(text_), why));
  }

  // Returns the value of `key`, or nothing, and marks the key as recognized.
  std::optional<std::string_view> find(std::string_view key) {
    std::optional<std::string_view> out;
    for (Section& section : list_) {
      if (section.key != key) continue;
      if (out) refuse(fmt::format("{} is there twice", key));
      out = section.value;
      section.known = true;
    }
    return out;
  }

  template <class Number>
  void read(Number& to, std::string_view key, double low, double high) {
    const std::optional<std::string_view> text = find(key);
    if (!text) return;
    const char* end = text->data() + text->size();
    const auto [stop, error] = std::from_chars(text->data(), end, to);
    if (error == std::errc{} && stop == end && to >= low && to <= high) return;
    refuse(fmt::format("{} must be a {} from {} to {}, not \"{}\"", key,
                       std::is_integral_v<Number> ? "whole number" : "number", low, high,
                       shown_text(std::string(*text))));
  }

  void refuse_others(const char* known) const {
    for (const Section& section : list_) {
      if (section.known) continue;
      const std::string all = fmt::format("{}{}", section.key, section.value);
      refuse(fmt::format("\"{}\" is not one of {}", shown_text(all), known));
    }
  }

  std::string_view head;

 private:
  struct Section {
    std::string_view key, value;
    bool known = false;
  };

  static std::string_view take(std::string_view& left) {
    const std::string_view out = left.substr(0, left.find('-'));
    left.remove_prefix(out.size());
    return out;
  }

  static Section split(std::string_view section) {
    const std::size_t at = section.starts_with('t')
                               ? 1
                               : std::min(section.find_first_of("0123456789"), section.size());
    return {section.substr(0, at), section.substr(at)};
  }

  const char* owner_;
  const std::string& text_;
  std::vector<Section> list_;
};

constexpr double kMaxMagnitude = 1000;
constexpr double kMaxStd = 1e9;

}  // namespace

TimmRandConfig timm_rand_config(const char* owner, const std::string& text) {
  Sections sections(owner, text);
  if (sections.head != "rand") {
    sections.refuse(
        "it must begin with \"rand\", as in \"rand-m9-mstd0.5-inc1\" (AutoAugment's policies and "
        "\"3a\" "
        "are for TimmAutoAugment)");
  }
  TimmRandConfig out;
  int mean = 10, max = 10, increasing = 0;
  sections.read(mean, "m", 0, kMaxMagnitude);
  sections.read(out.count, "n", 0, 1000);
  sections.read(out.p, "p", 0, 1);
  sections.read(out.magnitude.std, "mstd", 0, kMaxStd);
  sections.read(max, "mmax", 0, kMaxMagnitude);
  sections.read(increasing, "inc", 0, 1);
  out.ops = increasing ? std::span<const WeightedTimmOp>(kIncreasing) : kPlain;
  if (const std::optional<std::string_view> set = sections.find("t")) {
    if (*set == "weights") {
      out.ops = kWeighted;
    } else if (*set == "3aw") {
      out.ops = kThreeAugmentWeighted;
    } else if (*set == "3a") {
      out.ops = kThreeAugment;
    } else {
      sections.refuse(
          fmt::format("t must be weights, 3a or 3aw, not \"{}\"", shown_text(std::string(*set))));
    }
    out.repeats = *set == "3a";
  }
  sections.refuse_others("m, n, p, mstd, mmax, inc with a number, and tweights, t3a, t3aw");
  if (!out.repeats && static_cast<std::size_t>(out.count) > out.ops.size()) {
    sections.refuse(
        fmt::format("n is {}, but there are only {} weighted operations, and each comes once",
                    out.count, out.ops.size()));
  }
  out.magnitude.mean = mean;
  out.magnitude.max = max == 0 ? 10 : max;
  out.magnitude.uniform = out.magnitude.std > 100;
  return out;
}

TimmAutoConfig timm_auto_config(const char* owner, const std::string& text) {
  Sections sections(owner, text);
  constexpr std::array<const char*, 5> kNames = {"original", "originalr", "v0", "v0r", "3a"};
  TimmAutoConfig out;
  std::size_t i = 0;
  while (i < kNames.size() && sections.head != kNames[i]) ++i;
  if (i == kNames.size()) {
    sections.refuse(fmt::format("it must begin with one of {}, as in \"original-mstd0.5\"",
                                fmt::join(kNames, ", ")));
  }
  out.policy = static_cast<TimmPolicy>(i);
  sections.read(out.std, "mstd", 0, kMaxStd);
  sections.refuse_others("mstd with a number");
  return out;
}

}  // namespace tundish
