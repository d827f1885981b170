// The metadata section: schema and provenance as JSON.
//
//   {"provenance":{"source":"image folder","tundish":"0.1.0"},
//    "schema":{"classes":["cat","dog"],
//              "fields":[{"name":"image","type":"image"},{"name":"label","type":"label"}]}}
//
// Names are bytes, JSON strings are Unicode. Valid UTF-8 in a name is written as it is, except that
// a backslash becomes \\. Any other byte becomes \xNN. The result is written as a JSON string.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "data/source/source.h"

namespace tundish {

std::string escape_name(std::string_view bytes);
std::optional<std::string> unescape_name(std::string_view text);  // empty: not made by escape_name

// Returns a JSON string with its quotes. `text` must be valid UTF-8.
std::string json_string(std::string_view text);

// Returns canonical JSON: sorted keys, no spaces. The pack id is computed from it.
std::string schema_json(const Schema& schema);

// Adds the provenance to schema_json; `lanes` and `preprocess` are JSON to insert, or empty.
std::string metadata_json(const Schema& schema, const std::string& lanes = {},
                          const std::string& preprocess = {});

// Returns metadata_damaged if the text is not JSON or not a possible schema. Ignores unknown keys.
// Takes memory in proportion to the text, however deeply nested.
std::optional<Fault> parse_metadata(Schema& out, std::string_view json);

// Checks what every schema must satisfy: limits, distinct names, at most one image and one label.
std::optional<Fault> check_schema(const Schema& schema);

}  // namespace tundish
