// tundish cat: one field of one record to stdout, as it was packed.
#include <fmt/format.h>
#include <unistd.h>

#include "cli/json.h"
#include "cli/record.h"
#include "cli/source_words.h"
#include "cli/verbs.h"

namespace tundish::cli {
namespace {

constexpr VerbHelp kHelp = {
    .verb = "cat",
    .usage = "FILE N [--field F]",
    .examples = R"(tundish cat train.tnd 0 > first.jpg
tundish cat train.tnd 0 --field label)",
    .text = R"(Writes the bytes of record N to stdout: the image, or the field named. They are
checked against their checksum first.)",
    .json = R"({record, key, label, class, codec, width, height, fields}; fields is an array of
{name, type, bytes}, bytes being their number)"};

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

}  // namespace

int run_cat(const Words& words, Shell& shell) {
  std::string file;
  std::string number;
  std::string field_name;
  SourceWords about;
  Arguments arguments(kHelp, shell);
  arguments.word(file, "FILE", "a pack, or another source");
  arguments.word(number, "N", "number of the record, from 0");
  add_source_words(arguments, about);
  arguments.option(field_name, "--field", "F", "which field (default: the image)");
  if (!arguments.parse(words)) return kOk;
  if (number.empty() || number.size() > 19 ||
      number.find_first_not_of("0123456789") != std::string::npos) {
    throw UsageError(fmt::format("'{}' is not the number of a record", printable(number)));
  }
  const std::uint64_t record = std::stoull(number);

  const std::shared_ptr<const Source> source = open_source(file, about);
  if (record >= source->count()) {
    throw Error(ErrorCode::no_such_record, {.file = file},
                fmt::format("record {} of {}", with_commas(record), with_commas(source->count())));
  }
  Sample sample;
  if (shell.json) {
    source->read_original(sample, record);
    Json out = record_json(*source, record);
    out["fields"] = fields_json(source->schema(), sample);
    print_json(shell, out);
    return kOk;
  }
  const Schema& schema = source->schema();
  const int field = field_name.empty() ? default_field(schema) : field_number(schema, field_name);
  if (schema.fields[static_cast<std::size_t>(field)].type == FieldType::label) {
    shell.print(fmt::format("{}\n", source->info(record).label));
    return kOk;
  }
  const bool text = schema.fields[static_cast<std::size_t>(field)].type == FieldType::text;
  if (!text && ::isatty(STDOUT_FILENO)) {
    throw UsageError(
        "these bytes are not for a terminal; send them to a file with > or to a program with |");
  }
  source->read_original(sample, record, FieldSet{1} << field);
  const std::vector<std::byte>& bytes = sample.fields.at(static_cast<std::size_t>(field));
  shell.print(std::string_view{reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  return kOk;
}

}  // namespace tundish::cli
