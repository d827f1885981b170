#include "cli/json.h"

#include <fmt/format.h>

namespace tundish::cli {

void print_json(const Shell& shell, const Json& value) { shell.print(value.dump() + '\n'); }

Json error_json(const Error& error) {
  const ErrorEntry* entry = find_error(error.code());
  Json body;
  body["code"] = error_name(error.code());
  body["message"] = json_text(error.what());
  body["title"] = entry ? entry->title : "";
  body["file"] = json_text(error.where().file);
  body["record"] = error.where().record ? Json(*error.where().record) : Json();
  if (error.where().key.empty()) {
    body["key"] = nullptr;
  } else {
    put_key(body, error.where().key);
  }
  body["offset"] = error.where().offset ? Json(*error.where().offset) : Json();
  body["reason"] = json_text(error.reason());
  return body;
}

std::string json_text(const std::string& bytes) {
  // Changes only bytes that JSON cannot represent; line breaks are preserved.
  std::string out;
  for (std::size_t i = 0; i < bytes.size();) {
    const std::size_t end = bytes.find_first_of("\n\t\r", i);
    out += printable(bytes.substr(i, end == std::string::npos ? end : end - i));
    if (end == std::string::npos) break;
    out += bytes[end];
    i = end + 1;
  }
  return out;
}

void put_key(Json& into, const std::string& key) {
  const std::string shown = json_text(key);
  into["key"] = shown;
  if (shown == key) return;
  std::string hex;
  for (const char c : key) hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
  into["key_hex"] = hex;
}

}  // namespace tundish::cli
