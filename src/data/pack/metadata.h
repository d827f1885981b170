// The metadata section: schema and provenance as JSON.
//
//   {"provenance":{"source":"image folder","tundish":"0.1.0"},
//    "schema":{"classes":["cat","dog"],
//              "fields":[{"name":"image","type":"image"},{"name":"label","type":"label"}]}}
//
// Names are bytes, JSON strings are Unicode. A name is written as it is where it is valid UTF-8,
// but a backslash becomes \\ and every other byte \xNN; then it is made a JSON string.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "data/source/source.h"

namespace tundish {

std::string escape_name(std::string_view bytes);
std::optional<std::string> unescape_name(std::string_view text);  // empty: not made by escape_name

// A JSON string with its quotes; the text is valid UTF-8.
std::string json_string(std::string_view text);

// Canonical: keys in order, no spaces. The pack id is made from it.
std::string schema_json(const Schema& schema);

// schema_json with the provenance around it; `lanes` and `preprocess` are JSON to insert, or empty.
std::string metadata_json(const Schema& schema, const std::string& lanes = {},
                          const std::string& preprocess = {});

// metadata_damaged when it is not JSON, or not a possible schema. Keys it does not know are
// passed over. Takes memory in proportion to the text, however it is nested.
std::optional<Fault> parse_metadata(Schema& out, std::string_view json);

// What every schema must keep: known limits, distinct names, one image and one label at most.
std::optional<Fault> check_schema(const Schema& schema);

}  // namespace tundish
