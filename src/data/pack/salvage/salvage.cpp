#include "data/pack/salvage/salvage.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "codec/decode/decode.h"
#include "data/pack/index.h"
#include "data/pack/reader.h"
#include "data/pack/salvage/scan.h"
#include "data/pack/salvage/sections.h"

namespace tundish {
namespace {

std::string name_of(std::uint64_t record) { return fmt::format("record-{:06}", record); }

// Returns the label of a sample of an image folder: its key begins with the class's folder.
std::int64_t label_of(const std::string& key, const Schema& schema) {
  if (schema.source != "image folder") return -1;
  for (std::size_t label = 0; label < schema.classes.size(); ++label) {
    if (key.starts_with(schema.classes[label] + "/")) return static_cast<std::int64_t>(label);
  }
  return -1;
}

void name_record(FoundRecord& record, const IntactParts& parts) {
  if (const std::string* name = parts.name(record.number)) {
    record.key = *name;
  } else {
    record.key = name_of(record.number);
    record.key_is_lost = true;
  }
}

// Finds the alignment with which the records end where the metadata begin.
std::optional<std::vector<std::uint64_t>> offsets_of(const IntactParts& parts) {
  std::vector<std::uint64_t> alignments;
  if (parts.head) {
    alignments = {parts.head->alignment};
  } else {
    alignments = {64, 8, 16, 32, 128, 256, 512, 1024, 2048, 4096};
  }
  for (const std::uint64_t alignment : alignments) {
    auto offsets = record_offsets(*parts.index, alignment, *parts.records_end);
    if (offsets && align_up(offsets->back(), kSectionAlignment) == *parts.records_end)
      return offsets;
  }
  return std::nullopt;
}

bool take_index(Salvage& out, const IntactParts& parts) {
  const auto offsets = offsets_of(parts);
  if (!offsets) return false;
  const Index& index = *parts.index;
  for (std::uint64_t i = 0; i < index.count(); ++i) {
    FoundRecord record{.number = i, .offset = (*offsets)[i], .info = index.info(i)};
    for (const auto& column : index.length) record.lengths.push_back(column[i]);
    if (index.is_lanes(i)) record.restore = index.restore[i];
    name_record(record, parts);
    out.records.push_back(std::move(record));
  }
  return true;
}

void take_scan(Salvage& out, const ByteFile& file, const IntactParts& parts,
               const SalvageOptions& options) {
  std::vector<std::uint64_t> alignments = {64, 8};
  if (parts.head) alignments = {parts.head->alignment};
  ScanResult best;
  for (const std::uint64_t alignment : alignments) {
    const RecordScan scan{.schema = out.schema,
                          .alignment = alignment,
                          .records_end = parts.records_end,
                          .progress = options.progress,
                          .search = options.search};
    ScanResult found = scan_records(file, scan);
    if (found.records.size() > best.records.size()) best = std::move(found);
  }
  out.method = SalvageMethod::scan;
  out.lost = std::move(best.lost);
  out.records = std::move(best.records);
  const std::uint64_t next = out.records.empty() ? 0 : out.records.back().number + 1;
  if (out.count && next < *out.count) {
    out.lost.push_back({next, *out.count - next, "not found"});
  }
  const bool labels = out.schema.find(FieldType::label) >= 0;
  for (FoundRecord& record : out.records) {
    name_record(record, parts);
    record.info.label = record.key_is_lost ? -1 : label_of(record.key, out.schema);
    record.label_is_lost = labels && record.info.label < 0;
  }
}

void choose_tables(Salvage& out, const IntactParts& parts, const SalvageOptions& options) {
  if (parts.tables) {
    auto tables = std::make_shared<lanes::Tables>();
    const bool none = parts.tables->empty() || lanes::expand_tables(*tables, *parts.tables);
    if (!none) out.tables = std::move(tables);
    return;
  }
  // If the guessed tables do not fit a record, the record counts as lost when it is restored.
  out.guessed_tables = true;
  const lanes::Tables* like = options.like ? options.like->tables(0) : nullptr;
  if (like) {
    out.tables = std::make_shared<lanes::Tables>(*like);
  } else {  // these tables exist as long as the process, so nothing owns them
    out.tables = {std::shared_ptr<void>(), &lanes::builtin_tables()};
  }
}

void choose_schema(Salvage& out, const IntactParts& parts, const SalvageOptions& options) {
  if (parts.schema) {
    out.schema = *parts.schema;
  } else if (options.like) {
    out.schema = options.like->schema();
  } else {
    out.schema = {.fields = {{"image", FieldType::image}}, .classes = {}, .source = "salvaged"};
    out.fields_are_lost = true;
  }
}

std::string lost_fields(const std::optional<Head>& head) {
  const bool arrays = head && head->incompatible & kFeatureArrays;
  return fmt::format("the fields: {}; --like names a pack with the same fields",
                     arrays ? "without the metadata the shape and type of arrays are not known"
                            : "without the metadata only images are found");
}

}  // namespace

Salvage find_records(const std::shared_ptr<const ByteFile>& file, const SalvageOptions& options) {
  IntactParts parts = read_intact_parts(*file, options.like ? &options.like->schema() : nullptr);
  Salvage out;
  out.count = parts.count;
  choose_schema(out, parts, options);
  choose_tables(out, parts, options);
  const bool by_index = parts.index && parts.records_end && take_index(out, parts);
  if (!by_index) {
    if (parts.index) parts.lost.push_back("the index: its lengths do not fit the file");
    take_scan(out, *file, parts, options);
  }
  if (out.fields_are_lost) parts.lost.push_back(lost_fields(parts.head));
  out.parts = std::move(parts.lost);
  if (out.records.empty() && !parts.head && !parts.schema) {
    throw Error(ErrorCode::not_a_pack, {.file = file->path()},
                "neither its head nor its metadata nor one record is that of a pack");
  }
  if (out.method == SalvageMethod::scan || out.guessed_tables)
    read_image_headers(out, file, options.limits);
  return out;
}

}  // namespace tundish
