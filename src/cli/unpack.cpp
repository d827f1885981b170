// tundish unpack: the files that were packed, byte for byte.
#include <fmt/format.h>

#include <cstring>

#include "cli/json.h"
#include "cli/output_folder.h"
#include "cli/progress.h"
#include "cli/record.h"
#include "cli/text.h"
#include "cli/verbs.h"
#include "pack/open.h"

namespace tundish::cli {
namespace {

constexpr VerbHelp kHelp = {
    .verb = "unpack",
    .usage = "FILE -o DIR [options]",
    .examples = R"(tundish unpack train.tnd -o photos/)",
    .text = R"(Writes the original files below DIR, under the names they had in the data set,
and never outside DIR. Files that are there already with the same bytes are
kept, so an interrupted run can be repeated; others are replaced with --force
only. Where labels or columns do not follow from the folders, DIR/list.csv holds
them. Damaged records are named and left out, exit code 3.)",
    .json = R"({output, files, bytes, already_there, damaged, seconds}; damaged is an array of
{code, message, title, file, record, key, offset, reason})"};

constexpr std::size_t kShown = 10;
constexpr const char* kList = "list.csv";

bool is_list(const Schema& schema) { return schema.source == "csv" || schema.source == "tsv"; }

// What stands in list.csv and not in a file of its own.
bool is_column(const Schema& schema, const Field& field) {
  return field.type == FieldType::number || (field.type == FieldType::text && is_list(schema));
}

bool needs_list(const Schema& schema) {
  for (const Field& field : schema.fields) {
    if (is_column(schema, field)) return true;
  }
  return schema.find(FieldType::label) >= 0 && schema.source != "image folder";
}

void add_cell(std::string& row, const std::string& text) {
  if (!row.empty()) row += ',';
  if (text.find_first_of(",\"\r\n") == text.npos && !text.empty()) {
    row += text;
    return;
  }
  row += '"';
  for (const char c : text) row += c == '"' ? std::string("\"\"") : std::string(1, c);
  row += '"';
}

std::string list_head(const Schema& schema) {
  std::string row;
  add_cell(row, "path");
  for (const Field& field : schema.fields) {
    if (field.type == FieldType::label || is_column(schema, field)) add_cell(row, field.name);
  }
  return row + '\n';
}

std::string list_row(const Schema& schema, const SampleInfo& info, const std::string& key,
                     const Sample& sample) {
  std::string row;
  add_cell(row, key);
  for (std::size_t f = 0; f < schema.fields.size(); ++f) {
    const Field& field = schema.fields[f];
    const std::vector<std::byte>& bytes = sample.fields.at(f);
    double number = 0;
    if (field.type == FieldType::label) {
      const std::string name = class_name(schema, info.label);
      add_cell(row, name.empty() ? std::to_string(info.label) : name);
    } else if (field.type == FieldType::number) {
      if (bytes.size() == sizeof number) std::memcpy(&number, bytes.data(), sizeof number);
      add_cell(row, fmt::format("{}", number));
    } else if (is_column(schema, field)) {
      add_cell(row, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    }
  }
  return row + '\n';
}

// The image has the sample's name; another file the same up to the first dot, then its kind.
std::string file_name(const Schema& schema, std::size_t field, const std::string& key) {
  if (schema.fields[field].type == FieldType::image) return key;
  const std::size_t slash = key.rfind('/');
  const std::size_t dot = key.find('.', slash == key.npos ? 1 : slash + 2);
  return fmt::format("{}.{}", key.substr(0, dot), schema.fields[field].name);
}

}  // namespace

int run_unpack(const Words& words, Shell& shell) {
  std::string file;
  std::string target;
  bool force = false;
  Arguments arguments(kHelp, shell);
  arguments.word(file, "FILE", "a pack");
  arguments.option(target, "-o,--output", "DIR", "where to write; made when missing", true);
  arguments.flag(force, "-f,--force", "replace files that are there with other bytes");
  if (!arguments.parse(words)) return kOk;
  if (target.empty()) throw UsageError("the name behind -o is empty");

  const std::shared_ptr<const Source> source = open_source(file);
  const Schema& schema = source->schema();
  std::uint64_t total = 0;
  for (std::uint64_t i = 0; i < source->count(); ++i) total += source->bytes(i);
  OutputFolder folder(target, force);

  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  std::uint64_t already = 0;
  std::vector<Error> damaged;
  std::string list = needs_list(schema) ? list_head(schema) : "";
  Progress progress(shell, "unpacking", "files");
  Sample sample;
  for (std::uint64_t i = 0; i < source->count(); ++i) {
    check_interrupt(file);
    try {
      source->read(sample, i);
      const std::string key = source->key(i);
      for (std::size_t f = 0; f < schema.fields.size(); ++f) {
        if (schema.fields[f].type == FieldType::label || is_column(schema, schema.fields[f]))
          continue;
        const std::vector<std::byte>& content = sample.fields.at(f);
        const bool image = schema.fields[f].type == FieldType::image;
        if (content.empty() && !image) continue;  // the sample has no such file
        if (!folder.write(file_name(schema, f, key), content)) ++already;
        ++files;
        bytes += content.size();
      }
      if (!list.empty()) list += list_row(schema, source->info(i), key, sample);
    } catch (const Error& error) {
      if (exit_of(error.code()) != kDamaged) throw;
      if (error.code() == ErrorCode::name_unsafe) {  // say which record
        damaged.emplace_back(error.code(), Where{.file = file, .record = i, .key = source->key(i)},
                             error.reason());
      } else {
        damaged.push_back(error);
      }
    }
    progress.show(
        {.items = files, .items_total = source->count(), .bytes = bytes, .bytes_total = total});
  }
  if (!list.empty()) folder.write(kList, std::as_bytes(std::span(list)));
  folder.sync();
  progress.wipe();

  for (std::size_t i = 0; i < damaged.size() && i < kShown; ++i) shell.warn(damaged[i].what());
  if (damaged.size() > kShown) {
    shell.warn(fmt::format("and {} more", with_commas(damaged.size() - kShown)));
  }
  if (shell.json) {
    Json out;
    out["output"] = json_text(target);
    out["files"] = files;
    out["bytes"] = bytes;
    out["already_there"] = already;
    out["damaged"] = Json::array();
    for (const Error& error : damaged) out["damaged"].push_back(error_json(error));
    out["seconds"] = progress.seconds();
    print_json(shell, out);
  } else {
    std::string text =
        fmt::format("{}  {} files, {} in {}", printable(target), with_commas(files),
                    bytes_text(static_cast<double>(bytes)), duration_text(progress.seconds()));
    if (already) text += fmt::format(", {} were there already", with_commas(already));
    if (!damaged.empty()) text += fmt::format(", {} damaged left out", with_commas(damaged.size()));
    shell.line("done", text);
  }
  return damaged.empty() ? kOk : kDamaged;
}

}  // namespace tundish::cli
