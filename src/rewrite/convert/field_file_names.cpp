#include "rewrite/convert/field_file_names.h"

#include <algorithm>
#include <set>

namespace tundish {
namespace {

std::string file_name(const std::string& name) {
  std::string out = name.substr(0, 200);
  for (char& c : out) {
    if (c == '/' || static_cast<unsigned char>(c) < 32) c = '_';
  }
  if (out.empty() || out[0] == '.') out.insert(0, "_");
  return out;
}

}  // namespace

std::vector<std::string> field_file_names(const Schema& schema) {
  std::vector<std::string> out(schema.fields.size());
  std::set<std::string> taken = {"image", "key", "classes"};
  if (schema.find(FieldType::label) >= 0) taken.insert("label");
  for (std::size_t f = 0; f < out.size(); ++f) {
    const FieldType type = schema.fields[f].type;
    if (type == FieldType::image || type == FieldType::label) {
      out[f] = type == FieldType::image ? "image" : "label";
      continue;
    }
    out[f] = file_name(schema.fields[f].name);
    while (!taken.insert(out[f]).second) out[f] += '_';
  }
  return out;
}

}  // namespace tundish
