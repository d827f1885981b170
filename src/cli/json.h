// The output of --json.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "cli/shell.h"
#include "data/source/source.h"

namespace tundish::cli {

using Json = nlohmann::ordered_json;  // keys in documented order

void print_json(const Shell& shell, const Json& value);  // on one line

// Returns {code, message, title, file, record, key, offset, reason}.
Json error_json(const Error& error);

// Prepares text for a JSON string: bytes that are not UTF-8 become \xNN.
std::string json_text(const std::string& bytes);

// Adds {"key": "..."} and, if the name is not UTF-8, "key_hex" with the exact bytes.
void put_key(Json& into, const std::string& key);

// Empty if the codec is unknown before the bytes are read: only a pack stores it.
std::string codec_text(const Source& source, const SampleInfo& info);

// Returns {record, key, label, class, codec, width, height}, as `info --list` and `unpack --record`
// print it; unknown values are null. Reads the name but not the record.
Json record_json(const Source& source, std::uint64_t record);

}  // namespace tundish::cli
