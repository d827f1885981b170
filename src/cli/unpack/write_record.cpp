#include "cli/unpack/write_record.h"

#include <fmt/format.h>
#include <unistd.h>

#include "cli/arguments.h"
#include "cli/json.h"
#include "cli/text.h"
#include "data/pack/output_file.h"

namespace tundish::cli {
namespace {

int field_number(const Schema& schema, const std::string& name) {
  std::string names;
  for (std::size_t f = 0; f < schema.fields.size(); ++f) {
    if (schema.fields[f].name == name) return static_cast<int>(f);
    names += (f ? ", " : "") + printable(schema.fields[f].name);
  }
  throw UsageError(fmt::format("there is no field '{}'; there are: {}", printable(name), names));
}

int default_field(const Schema& schema) {
  const int image = schema.find(FieldType::image);
  if (image >= 0) return image;
  for (std::size_t f = 0; f < schema.fields.size(); ++f) {
    if (schema.fields[f].type != FieldType::label) return static_cast<int>(f);
  }
  throw UsageError("the records have no field with bytes");
}

Json fields_json(const Schema& schema, const Sample& sample) {
  Json out = Json::array();
  for (std::size_t f = 0; f < schema.fields.size(); ++f) {
    const Field& field = schema.fields[f];
    if (field.type == FieldType::label) continue;
    out.push_back({{"name", json_text(field.name)},
                   {"type", field_type_name(field.type)},
                   {"bytes", sample.fields.at(f).size()}});
  }
  return out;
}

// Returns the bytes of one field; a label becomes a line of text.
std::vector<std::byte> field_bytes(const Source& source, std::uint64_t record, int field) {
  if (source.schema().fields[static_cast<std::size_t>(field)].type == FieldType::label) {
    const std::string line = fmt::format("{}\n", source.info(record).label);
    const Bytes bytes = std::as_bytes(std::span(line));
    return {bytes.begin(), bytes.end()};
  }
  Sample sample;
  source.read_original(sample, record, FieldSet{1} << field);
  return sample.fields.at(static_cast<std::size_t>(field));
}

void check_terminal(FieldType type) {
  const bool text = type == FieldType::text || type == FieldType::label;
  if (text || !::isatty(STDOUT_FILENO)) return;
  throw UsageError("these bytes are not for a terminal; write them to a file with -o FILE");
}

void print_as_json(const Source& source, const RecordOptions& options, const Shell& shell) {
  Sample sample;
  source.read_original(sample, options.record);
  Json out = record_json(source, options.record);
  out["fields"] = fields_json(source.schema(), sample);
  out["output"] = options.target.empty() ? Json() : Json(json_text(options.target));
  print_json(shell, out);
}

}  // namespace

void write_record(const Source& source, const RecordOptions& options, const Shell& shell) {
  const std::uint64_t record = options.record;
  if (record >= source.count()) {
    throw Error(ErrorCode::no_such_record, {.file = source.path()},
                fmt::format("record {} of {}", with_commas(record), with_commas(source.count())));
  }
  const Schema& schema = source.schema();
  if (shell.json && options.target.empty()) return print_as_json(source, options, shell);
  const int field =
      options.field.empty() ? default_field(schema) : field_number(schema, options.field);
  if (options.target.empty()) check_terminal(schema.fields[static_cast<std::size_t>(field)].type);
  const std::vector<std::byte> bytes = field_bytes(source, record, field);
  if (options.target.empty()) {
    shell.print(std::string_view{reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    return;
  }
  write_file(options.target, options.replace, bytes);
  if (shell.json) return print_as_json(source, options, shell);
  shell.line("done", fmt::format("{}  {}", printable(options.target),
                                 bytes_text(static_cast<double>(bytes.size()))));
}

}  // namespace tundish::cli
