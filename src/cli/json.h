// What --json prints.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "cli/shell.h"

namespace tundish::cli {

using Json = nlohmann::ordered_json;  // keys in the order in which they are documented

void print_json(const Shell& shell, const Json& value);  // one line

// {code, message, title, file, record, key, offset, reason}
Json error_json(const Error& error);

// Text for a JSON string: bytes that are not UTF-8 become \xNN.
std::string json_text(const std::string& bytes);

// {"key": "..."} and, where the name is not UTF-8, "key_hex" with its exact bytes.
void put_key(Json& into, const std::string& key);

}  // namespace tundish::cli
