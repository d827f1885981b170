#include "cli/info/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/info/spread.h"
#include "cli/json.h"
#include "cli/pack/preprocess_report.h"
#include "cli/text.h"
#include "codec/lanes/jpeg_file.h"
#include "data/pack/open.h"
#include "data/pack/reader.h"

namespace tundish::cli {
namespace {

struct Summary {
  std::uint64_t bytes = 0;
  std::map<std::string, std::uint64_t> codecs;
  std::map<std::int64_t, std::uint64_t> labels;  // samples per label
  Spread width, height;
};

// Before packing, images have not been inspected. In a pack, every image has a codec, including
// images of unknown size: broken ones, and formats that cannot be decoded.
Summary summarize(const Source& source, bool packed) {
  Summary out;
  const bool images = source.schema().find(FieldType::image) >= 0;
  std::vector<std::uint32_t> widths;
  std::vector<std::uint32_t> heights;
  for (std::uint64_t i = 0; i < source.count(); ++i) {
    const SampleInfo info = source.info(i);
    out.bytes += source.bytes(i);
    if (info.label >= 0) ++out.labels[info.label];
    if (images && (packed || info.width > 0)) ++out.codecs[codec_name(info.codec)];
    if (info.width == 0) continue;
    widths.push_back(info.width);
    heights.push_back(info.height);
  }
  out.width = spread_of(widths);
  out.height = spread_of(heights);
  return out;
}

// Formats the first few names and the number of omitted names.
std::string some_of(const std::vector<std::string>& names) {
  std::string out;
  std::size_t shown = 0;
  for (const std::string& name : names) {
    if (shown == 8 || out.size() + name.size() > 60) break;
    out += (shown++ ? ", " : "") + printable(name);
  }
  const std::size_t more = names.size() - shown;
  if (more) out += fmt::format(", and {} more", with_commas(more));
  return out;
}

// Not Json, which scans all keys of an object for each insertion: a hostile pack may have millions
// of keys.
nlohmann::json metadata_of(const Pack* pack) {
  return pack ? nlohmann::json::parse(pack->metadata(), nullptr, false) : nlohmann::json();
}

// Returns the packer's notes about JPEGs ("lanes") or preprocessing, selected by `what`. Returns
// null if the packer did neither.
nlohmann::json provenance_of(const nlohmann::json& metadata, const char* what) {
  const nlohmann::json* at = &metadata;
  for (const char* key : {"provenance", what}) {
    if (!at->is_object() || !at->contains(key)) return {};
    at = &(*at)[key];
  }
  return *at;
}

void print_as_json(const std::string& file, const Source& source, const Pack* pack,
                   const Summary& summary, const Shell& shell) {
  const Schema& schema = source.schema();
  Json out;
  out["file"] = json_text(file);
  out["kind"] = is_manifest(file) ? "shards" : pack ? "pack" : json_text(schema.source);
  out["records"] = source.count();
  out["bytes"] = summary.bytes;
  out["file_bytes"] = pack ? Json(pack->file_bytes()) : Json();
  out["fields"] = Json::array();
  for (const Field& field : schema.fields) {
    out["fields"].push_back(
        {{"name", json_text(field.name)}, {"type", field_type_name(field.type)}});
  }
  out["classes"] = Json::array();
  for (const std::string& name : schema.classes) out["classes"].push_back(json_text(name));
  out["labels"] = Json::object();
  for (const auto& [label, count] : summary.labels) out["labels"][std::to_string(label)] = count;
  out["codecs"] = Json::object();
  for (const auto& [codec, count] : summary.codecs) out["codecs"][codec] = count;
  const nlohmann::json metadata = metadata_of(pack);
  out["lanes"] = provenance_of(metadata, "lanes");
  out["preprocess"] = provenance_of(metadata, "preprocess");
  out["width"] = spread_json(summary.width);
  out["height"] = spread_json(summary.height);
  out["id"] = pack ? Json(pack->fingerprint()) : Json();
  out["version"] = pack ? Json(kFormatVersion) : Json();
  out["alignment"] = pack ? Json(pack->alignment()) : Json();
  out["metadata"] = metadata;
  out["warnings"] = Json::array();
  for (const std::string& text : source.warnings()) out["warnings"].push_back(json_text(text));
  print_json(shell, out);
}

void print_lanes(const Pack& pack, const Shell& shell) {
  const std::string_view all = pack.metadata();
  const std::size_t begin = all.find("\"lanes\":{");
  if (begin == all.npos) return;
  const std::string_view json = all.substr(begin);
  const std::uint64_t images = number_after(json, "\"images\":");
  const auto before = static_cast<double>(number_after(json, "\"jpeg_bytes\":"));
  const auto now = static_cast<double>(number_after(json, "\"record_bytes\":") +
                                       number_after(json, "\"restore_bytes\":"));
  if (images == 0 || before == 0) return;
  std::string text =
      fmt::format("{} in {:.3f}x the original bytes, {} tables", counted(images, "JPEG"),
                  now / before, number_after(json, "\"trained_on\":") > 0 ? "trained" : "built-in");
  for (std::size_t i = 1; i < lanes::kUnfits; ++i) {
    const char* reason = lanes::unfit_name(static_cast<lanes::Unfit>(i));
    const std::uint64_t kept = number_after(json, fmt::format("\"{}\":", reason));
    if (kept > 0) text += fmt::format(", {} kept: {}", with_commas(kept), reason);
  }
  shell.line("lanes", text);
}

void print_text(const std::string& file, const Source& source, const Pack* pack,
                const Summary& summary, const Shell& shell) {
  const Schema& schema = source.schema();
  shell.print(printable(file) + '\n');
  shell.line("kind",
             pack ? fmt::format("pack, version {}, made from: {}", kFormatVersion,
                                printable(schema.source))
                  : (is_manifest(file) ? "shards, made from: " : "") + printable(schema.source));
  shell.line("records", fmt::format("{}, {}", with_commas(source.count()),
                                    bytes_text(static_cast<double>(summary.bytes))));
  if (pack) {
    shell.line("file",
               fmt::format("{}, records aligned to {} bytes",
                           bytes_text(static_cast<double>(pack->file_bytes())), pack->alignment()));
  }
  std::string fields;
  for (const Field& field : schema.fields) {
    fields += fmt::format("{}{} ({})", fields.empty() ? "" : ", ", printable(field.name),
                          field_type_name(field.type));
  }
  shell.line("fields", fields);
  if (!schema.classes.empty()) {
    shell.line("classes",
               fmt::format("{}: {}", with_commas(schema.classes.size()), some_of(schema.classes)));
  } else if (!summary.labels.empty()) {
    shell.line("labels",
               fmt::format("{} different, from {} to {}", with_commas(summary.labels.size()),
                           summary.labels.begin()->first, summary.labels.rbegin()->first));
  }
  std::string codecs;
  for (const auto& [codec, count] : summary.codecs) {
    codecs += fmt::format("{}{} {}", codecs.empty() ? "" : ", ", codec, with_commas(count));
  }
  if (!codecs.empty()) shell.line("images", codecs);
  if (pack) print_lanes(*pack, shell);
  const std::string prepared = pack ? preprocess_of_metadata(pack->metadata()) : "";
  if (!prepared.empty()) shell.line("prepared", prepared);
  if (summary.width.max > 0) {
    shell.line("pixels",
               fmt::format("width {} to {} (median {}), height {} to {} (median {})",
                           summary.width.min, summary.width.max, summary.width.median,
                           summary.height.min, summary.height.max, summary.height.median));
  }
  if (pack) shell.line("id", pack->fingerprint());
  for (const std::string& text : source.warnings()) shell.warn(text);
}

}  // namespace

void print_summary(const Source& source, const std::string& file, const Shell& shell) {
  const auto* pack = dynamic_cast<const Pack*>(&source);
  (shell.json ? print_as_json : print_text)(file, source, pack, summarize(source, pack), shell);
}

}  // namespace tundish::cli
