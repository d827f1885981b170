#include "rewrite/convert/list_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "data/source/formats/file_list.h"
#include "data/source/label_vector.h"
#include "data/source/labels.h"
#include "data/source/names.h"
#include "rewrite/convert/sample_files.h"

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

ListText::ListText(const Schema& schema)
    : schema_(schema),
      numbered_(schema.find(FieldType::label) >= 0 && !schema.classes.empty()),
      named_(numbered_ ? schema.classes.size() : 0) {
  add_cell(rows_, "path");
  for (const Field& field : schema.fields) {
    if (is_label_vector(schema, field)) {
      for (const std::string& name : schema.classes) add_cell(rows_, "label:" + name);
    } else if (field.type == FieldType::label) {
      add_cell(rows_, field.name);
      if (numbered_) add_cell(rows_, kNumberColumn);
    } else if (is_list_column(schema, field)) {
      add_cell(rows_, field.name);
    }
  }
  rows_ += '\n';
}

void ListText::add_label(std::string& row, std::int64_t label) const {
  if (numbered_) add_cell(row, class_name(schema_, label));
  add_cell(row, std::to_string(label));
}

void ListText::add(const ConvertSample& sample, const std::string& name) {
  const std::int64_t label = sample.info.label;
  const std::string folder = class_name(schema_, label);
  in_folders_ = in_folders_ && !folder.empty() && name.starts_with(folder + '/');
  if (!folder.empty() && numbered_) named_[static_cast<std::size_t>(label)] = true;
  std::string row;
  add_cell(row, name);
  for (std::size_t f = 0; f < schema_.fields.size(); ++f) {
    const Field& field = schema_.fields[f];
    const Bytes bytes = sample.field(f);
    double number = 0;
    if (field.type == FieldType::label) {
      add_label(row, label);
    } else if (field.type == FieldType::number) {
      if (bytes.size() == sizeof number) std::memcpy(&number, bytes.data(), sizeof number);
      add_cell(row, fmt::format("{}", number));
    } else if (is_label_vector(schema_, field)) {
      std::vector<float> vector(schema_.classes.size());
      const bool damaged = read_label_vector(vector, bytes).has_value();
      for (const float one : vector) add_cell(row, damaged ? "" : fmt::format("{}", one));
    } else if (is_list_column(schema_, field)) {
      add_cell(row, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    }
  }
  rows_ += row + '\n';
}

bool ListText::follows_from_folders() const {
  return in_folders_ && std::find(named_.begin(), named_.end(), false) == named_.end() &&
         std::adjacent_find(schema_.classes.begin(), schema_.classes.end(),
                            [](const std::string& a, const std::string& b) {
                              return !name_before(a, b);
                            }) == schema_.classes.end();
}

std::string ListText::text() const {
  std::string out = rows_;
  for (std::size_t c = 0; c < named_.size(); ++c) {
    if (named_[c]) continue;
    std::string row;
    add_cell(row, "");
    for (const Field& field : schema_.fields) {
      if (field.type == FieldType::label) {
        add_label(row, static_cast<std::int64_t>(c));
      } else if (is_list_column(schema_, field)) {
        add_cell(row, "");
      }
    }
    out += row + '\n';
  }
  return out;
}

}  // namespace tundish
