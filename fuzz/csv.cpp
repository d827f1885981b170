// Any bytes as a list of files: rows or a fault, and no key that leaves the folder.
// parser: src/data/source/formats/csv.* src/data/source/formats/file_list*
// parser: src/data/source/label_vector.* src/data/source/number.*
#include <algorithm>
#include <cstdlib>
#include <span>
#include <string>

#include "data/source/formats/file_list.h"
#include "data/source/label_vector.h"
#include "data/source/names.h"
#include "data/source/number.h"

namespace {

using namespace tundish;

void require(bool claim) {
  if (!claim) std::abort();
}

void check_keys(const StringTable& keys, std::size_t count) {
  require(keys.size() == count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string key(keys[i]);
    require(!key.empty() && key == clean_path(key) && !key.starts_with('/') && key != ".." &&
            !key.starts_with("../") && key.find('\0') == std::string::npos);
  }
}

void check(const List& list) {
  const std::size_t count = list.paths.size();
  const Schema& schema = list.schema;
  require(schema.fields.size() <= kMaxFields && schema.find(FieldType::image) == 0);
  const bool vectors = label_vector_field(schema) >= 0;
  const bool labeled = schema.find(FieldType::label) == 1;
  require(!(vectors && labeled));
  require(list.label_vectors.size() == (vectors ? count * schema.classes.size() : 0));
  for (std::size_t i = 0; vectors && i < count; ++i) {
    const std::span<const float> vector =
        std::span(list.label_vectors).subspan(i * schema.classes.size(), schema.classes.size());
    std::vector<float> back(vector.size());
    require(!read_label_vector(back, label_vector_npy(vector)));
    require(std::equal(back.begin(), back.end(), vector.begin()));
  }
  require(list.offsets.size() == list.sizes.size());
  require(list.offsets.empty() || list.offsets.size() == count);
  for (const std::uint64_t size : list.sizes) require(size > 0 && size <= kMaxFileOffset);
  require(list.labels.size() == (labeled ? count : 0));
  for (const std::int64_t label : list.labels) {
    require(label >= -1);
    require(schema.classes.empty() || static_cast<std::size_t>(label) < schema.classes.size());
  }
  require(list.columns.size() + 1 + (labeled || vectors ? 1 : 0) == schema.fields.size());
  for (std::size_t c = 0; c < list.columns.size(); ++c) {
    const Field& field = schema.fields[schema.fields.size() - list.columns.size() + c];
    require(list.columns[c].size() == count && !field.name.empty() && is_utf8(field.name));
    for (std::size_t i = 0; i < count; ++i) {
      const std::string_view cell = list.columns[c][i];
      if (field.type == FieldType::number) require(parse_number(cell).has_value());
      if (field.type == FieldType::text) require(is_utf8(cell));
    }
  }
  for (const char* folder : {"/data/lists", "/data", ""}) {
    check_keys(make_keys(list.paths, folder), count);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const char separator : {',', '\t'}) {
    List list;
    if (!parse_list(list, text, separator)) check(list);
  }
  return 0;
}
