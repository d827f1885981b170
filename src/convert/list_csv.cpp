#include "convert/list_csv.h"

#include <fmt/format.h>

#include <cstring>

#include "convert/sample_files.h"
#include "source/label_vector.h"
#include "source/labels.h"

namespace tundish {
namespace {

bool is_label_vector(const Schema& schema, const Field& field) {
  return label_vector_field(schema) >= 0 && field.name == kLabelVectorField;
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

}  // namespace

bool needs_list(const Schema& schema) {
  for (const Field& field : schema.fields) {
    if (is_list_column(schema, field)) return true;
  }
  return schema.find(FieldType::label) >= 0 && schema.source != "image folder";
}

std::string list_head(const Schema& schema) {
  std::string row;
  add_cell(row, "path");
  for (const Field& field : schema.fields) {
    if (is_label_vector(schema, field)) {
      for (const std::string& name : schema.classes) add_cell(row, "label:" + name);
    } else if (field.type == FieldType::label || is_list_column(schema, field)) {
      add_cell(row, field.name);
    }
  }
  return row + '\n';
}

std::string list_row(const Schema& schema, const ConvertSample& sample, const std::string& name) {
  std::string row;
  add_cell(row, name);
  for (std::size_t f = 0; f < schema.fields.size(); ++f) {
    const Field& field = schema.fields[f];
    const Bytes bytes = sample.field(f);
    double number = 0;
    if (field.type == FieldType::label) {
      const std::string label = class_name(schema, sample.info.label);
      add_cell(row, label.empty() ? std::to_string(sample.info.label) : label);
    } else if (field.type == FieldType::number) {
      if (bytes.size() == sizeof number) std::memcpy(&number, bytes.data(), sizeof number);
      add_cell(row, fmt::format("{}", number));
    } else if (is_label_vector(schema, field)) {
      std::vector<float> vector(schema.classes.size());
      const bool damaged = read_label_vector(vector, bytes).has_value();
      for (const float one : vector) add_cell(row, damaged ? "" : fmt::format("{}", one));
    } else if (is_list_column(schema, field)) {
      add_cell(row, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    }
  }
  return row + '\n';
}

}  // namespace tundish
