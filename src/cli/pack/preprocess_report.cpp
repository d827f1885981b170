#include "cli/pack/preprocess_report.h"

#include <fmt/format.h>

#include <charconv>

#include "cli/text.h"

namespace tundish::cli {
namespace {

constexpr auto kGrows = static_cast<std::size_t>(Preprocessed::grows);

// Returns the string after a key; empty if the string is null, missing or long.
std::string word_after(std::string_view json, std::string_view key) {
  const std::size_t at = json.find(key);
  if (at == json.npos) return {};
  std::string_view rest = json.substr(at + key.size(), 64);
  if (!rest.starts_with('"')) return {};
  rest.remove_prefix(1);
  const std::size_t end = rest.find('"');
  return end == rest.npos ? std::string() : printable(std::string(rest.substr(0, end)));
}

}  // namespace

std::uint64_t number_after(std::string_view json, std::string_view key) {
  const std::size_t at = json.find(key);
  std::uint64_t out = 0;
  if (at != json.npos) {
    std::from_chars(json.data() + at + key.size(), json.data() + json.size(), out);
  }
  return out;
}

Json preprocess_report_json(const Preprocessor& preprocessor, const PreprocessReport& report) {
  Json out{{"options", Json::parse(preprocessor.options_json())},
           {"changed", report.changed()},
           {"kept", Json::object()},
           {"kept_smaller", report.images[kGrows]},
           {"bytes_before", report.bytes_before},
           {"bytes_after", report.bytes_after}};
  for (std::size_t i = 1; i < kPreprocessed; ++i) {
    if (report.images[i] == 0) continue;
    out["kept"][preprocessed_name(static_cast<Preprocessed>(i))] = report.images[i];
  }
  return out;
}

std::string preprocess_text(const PreprocessReport& report) {
  std::string out = counted(report.changed(), "image") + " changed";
  if (report.changed() > 0) {
    out += fmt::format(", {} became {}", bytes_text(static_cast<double>(report.bytes_before)),
                       bytes_text(static_cast<double>(report.bytes_after)));
  }
  std::string reasons;
  std::uint64_t kept = 0;
  for (std::size_t i = 1; i < kPreprocessed; ++i) {
    if (report.images[i] == 0) continue;
    kept += report.images[i];
    reasons +=
        fmt::format("{}{} {}", reasons.empty() ? "" : ", ",
                    preprocessed_name(static_cast<Preprocessed>(i)), with_commas(report.images[i]));
  }
  if (kept > 0) out += fmt::format("; {} kept as they came ({})", with_commas(kept), reasons);
  return out;
}

std::string preprocess_of_metadata(std::string_view metadata) {
  const std::size_t begin = metadata.find("\"preprocess\":{");
  if (begin == metadata.npos) return {};
  const std::string_view json = metadata.substr(begin);
  PreprocessReport report;
  report.images[0] = number_after(json, "\"changed\":");
  report.bytes_before = number_after(json, "\"bytes_before\":");
  report.bytes_after = number_after(json, "\"bytes_after\":");
  for (std::size_t i = 1; i < kPreprocessed; ++i) {
    const char* name = preprocessed_name(static_cast<Preprocessed>(i));
    report.images[i] = number_after(json, fmt::format("\"{}\":", name));
  }
  std::string options;
  for (const char* key : {"\"resize\":", "\"center_crop\":", "\"reencode\":"}) {
    const std::string word = word_after(json, key);
    if (word.empty()) continue;
    if (!options.empty()) options += ", ";
    if (std::string_view(key) == "\"center_crop\":") options += "center crop ";
    options += word;
  }
  return options + ": " + preprocess_text(report);
}

}  // namespace tundish::cli
