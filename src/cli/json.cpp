#include "cli/json.h"

#include <fmt/format.h>

#include "data/pack/reader.h"
#include "data/source/labels.h"

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

std::string codec_text(const Source& source, const SampleInfo& info) {
  const bool known = info.codec != Codec::unknown || dynamic_cast<const Pack*>(&source);
  return known ? codec_name(info.codec) : "";
}

Json record_json(const Source& source, std::uint64_t record) {
  const SampleInfo info = source.info(record);
  const std::string name = class_name(source.schema(), info.label);
  Json out;
  out["record"] = record;
  put_key(out, source.key(record));
  out["label"] = info.label < 0 ? Json() : Json(info.label);
  out["class"] = name.empty() ? Json() : Json(json_text(name));
  const std::string codec = codec_text(source, info);
  out["codec"] = codec.empty() ? Json() : Json(codec);
  out["width"] = info.width == 0 ? Json() : Json(info.width);
  out["height"] = info.height == 0 ? Json() : Json(info.height);
  return out;
}

}  // namespace tundish::cli
