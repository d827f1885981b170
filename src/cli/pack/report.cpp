#include "cli/pack/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/text.h"
#include "data/source/label_vector.h"
#include "data/source/unknown_count.h"

namespace tundish::cli {
namespace {

constexpr std::size_t kShown = 10;  // refused files and broken images listed on stderr

// Returns the message without the key if the key is only a number. Messages of samples in the same
// damaged chunk then become equal.
std::string text_without_number(const Refusal& sample) {
  if (sample.key != fmt::format("{:08}", sample.sample)) return sample.text;
  const std::size_t at = sample.text.find(": " + sample.key + ' ');
  if (at == std::string::npos) return sample.text;
  return sample.text.substr(0, at) + sample.text.substr(at + 2 + sample.key.size());
}

void name_some(const char* what, const std::vector<Refusal>& samples, bool is_failure,
               const Shell& shell) {
  const auto warn = is_failure ? &Shell::warn_of_failure : &Shell::warn;
  std::size_t at = 0;
  for (std::size_t shown = 0; at < samples.size() && shown < kShown; ++shown) {
    (shell.*warn)(fmt::format("{}: {}", what, samples[at].text));
    const std::string text = text_without_number(samples[at]);
    std::size_t same = 0;
    while (++at < samples.size() && text_without_number(samples[at]) == text) ++same;
    if (same == 0) continue;
    (shell.*warn)(fmt::format("{}: {} more for the same reason, to {}", what, with_commas(same),
                              samples[at - 1].key));
  }
  if (at < samples.size()) {
    (shell.*warn)(fmt::format("{}: {} more", what, with_commas(samples.size() - at)));
  }
}

std::string codecs_text(const PackReport& report) {
  std::string out;
  for (std::size_t codec = 0; codec < std::size(report.samples_by_codec); ++codec) {
    const std::uint64_t count = report.samples_by_codec[codec];
    if (count == 0) continue;
    const auto kind = static_cast<Codec>(codec);
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", with_commas(count),
                       kind == Codec::unknown ? "kept as they came" : codec_name(kind));
  }
  return out;
}

Json lanes_json(const LanesReport& report) {
  Json out{{"images", report.images},
           {"jpeg_bytes", report.jpeg_bytes},
           {"record_bytes", report.record_bytes},
           {"restore_bytes", report.restore_bytes},
           {"trained_on", report.trained_on},
           {"kept", Json::object()}};
  for (std::size_t i = 1; i < lanes::kUnfits; ++i) {
    if (report.unfit[i] > 0)
      out["kept"][lanes::unfit_name(static_cast<lanes::Unfit>(i))] = report.unfit[i];
  }
  return out;
}

// Returns "96 JPEGs re-coded to 0.937x, every file restores byte for byte; 2 kept as JPEG (CMYK 2)"
std::string lanes_text(const LanesReport& report, bool stripped) {
  std::string out;
  if (report.images > 0) {
    const auto now = static_cast<double>(report.record_bytes + report.restore_bytes);
    out = fmt::format("{} re-coded to {:.3f}x the original bytes, {}",
                      counted(report.images, "JPEG"), now / static_cast<double>(report.jpeg_bytes),
                      stripped ? "without their metadata" : "every file restores byte for byte");
  }
  std::string kept;
  std::uint64_t count = 0;
  for (std::size_t i = 1; i < lanes::kUnfits; ++i) {
    if (report.unfit[i] == 0) continue;
    count += report.unfit[i];
    kept +=
        fmt::format("{}{} {}", kept.empty() ? "" : ", ",
                    lanes::unfit_name(static_cast<lanes::Unfit>(i)), with_commas(report.unfit[i]));
  }
  if (count > 0)
    out += fmt::format("{}{} kept as JPEG ({})", out.empty() ? "" : "; ", with_commas(count), kept);
  return out;
}

}  // namespace

Json refusals_json(const std::vector<Refusal>& samples) {
  Json out = Json::array();
  for (const Refusal& sample : samples) {
    Json row;
    row["sample"] = sample.sample;
    put_key(row, sample.key);
    row["code"] = error_name(sample.code);
    row["message"] = json_text(sample.text);
    out.push_back(std::move(row));
  }
  return out;
}

std::string describe_source(const Source& source, std::uint64_t bytes) {
  const auto is_label = [](const Field& field) {
    return field.type == FieldType::label || field.name == kLabelVectorField;
  };
  const Schema& schema = source.schema();
  std::string out = printable(schema.source);
  if (!schema.classes.empty())
    out += ", " + counted(schema.classes.size(), "class");
  else if (std::none_of(schema.fields.begin(), schema.fields.end(), is_label))
    out += ", no labels";
  if (count_known(source) && source.count() > 0) out += ", " + counted(source.count(), "sample");
  if (bytes > 0) out += fmt::format(", {}", bytes_text(static_cast<double>(bytes)));
  return out;
}

std::string unnamed_labels_text(const PackReport& report, const Source& source) {
  const UnnamedLabels& found = report.unnamed_labels;
  if (found.samples == 0) return "";
  const std::uint64_t classes = source.schema().classes.size();
  return fmt::format(
      "{}: {} of {} samples have a label without a name: label {} of {} is the first, and the {} "
      "classes have the labels 0 to {}",
      printable(source.path()), with_commas(found.samples), with_commas(report.samples),
      found.first, printable(found.key), with_commas(classes), classes - 1);
}

void warn_of_samples(const PackReport& report, const Source& source, bool skip_bad,
                     const Shell& shell) {
  name_some("refused", report.refused, !skip_bad, shell);
  name_some("packed, but broken", report.doubtful, false, shell);
  if (report.unnamed_labels.samples > 0) shell.warn(unnamed_labels_text(report, source));
  if (report.kept_as_they_came == 0) return;
  shell.warn(
      fmt::format("{} of {} images are in a format that cannot be decoded: unpack restores them, a "
                  "loader leaves them out (tundish explain TND-402)",
                  with_commas(report.kept_as_they_came), with_commas(report.samples)));
}

Json report_json(const std::string& target, const Source& source, const PackReport& report,
                 double seconds, const std::string& log, bool dry_run) {
  Json out;
  out["output"] = json_text(target);
  out["samples"] = report.samples;
  out["source_bytes"] = report.source_bytes;
  out["file_bytes"] = dry_run ? Json() : Json(report.file_bytes);
  out["kept_as_they_came"] = report.kept_as_they_came;
  out["codecs"] = Json::object();
  for (std::size_t codec = 0; codec < std::size(report.samples_by_codec); ++codec) {
    if (report.samples_by_codec[codec] == 0) continue;
    out["codecs"][codec_name(static_cast<Codec>(codec))] = report.samples_by_codec[codec];
  }
  out["lanes"] = lanes_json(report.lanes);
  out["refused"] = refusals_json(report.refused);
  out["doubtful"] = refusals_json(report.doubtful);
  out["warnings"] = Json::array();
  for (const std::string& text : source.warnings()) out["warnings"].push_back(json_text(text));
  if (report.unnamed_labels.samples > 0) {
    out["warnings"].push_back(json_text(unnamed_labels_text(report, source)));
  }
  out["id"] = dry_run || report.id.empty() ? Json() : Json(report.id);
  out["files"] = Json::array();
  for (const std::string& file : report.files) out["files"].push_back(json_text(file));
  out["resumed_at"] = report.resumed_at;
  out["seconds"] = seconds;
  out["log"] = log.empty() ? Json() : Json(json_text(log));
  out["dry_run"] = dry_run;
  return out;
}

void print_summary(const std::string& target, const PackReport& report, bool stripped,
                   double seconds, const std::string& log, const Shell& shell) {
  shell.line("done", fmt::format("{}  {}, {} ({}) in {}", printable(target),
                                 bytes_text(static_cast<double>(report.file_bytes)),
                                 counted(report.samples, "sample"), codecs_text(report),
                                 duration_text(seconds)));
  if (target.ends_with(".tnds")) {
    shell.line("shards",
               fmt::format("{}: {} to {}", with_commas(report.files.size()),
                           printable(report.files.front()), printable(report.files.back())));
  }
  const std::string recoded = lanes_text(report.lanes, stripped);
  if (!recoded.empty()) shell.line("lanes", recoded);
  const std::string named = log.empty() ? "" : ", all named in " + printable(log);
  if (!report.refused.empty()) {
    shell.line("refused", with_commas(report.refused.size()) + named);
  }
  if (!report.doubtful.empty()) {
    shell.line("broken",
               fmt::format("{}, packed as they are{}", with_commas(report.doubtful.size()), named));
  }
  shell.line("next", fmt::format("tundish bench {}   |   for x, y in tundish.Loader(\"{}\", "
                                 "batch_size=256, ...): ...",
                                 quoted_for_shell(target), printable(target)));
}

}  // namespace tundish::cli
