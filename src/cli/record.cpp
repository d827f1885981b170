#include "cli/record.h"

namespace tundish::cli {

std::string class_name(const Schema& schema, std::int64_t label) {
  if (label < 0 || static_cast<std::uint64_t>(label) >= schema.classes.size()) return {};
  return schema.classes[static_cast<std::size_t>(label)];
}

Json record_json(const Source& source, std::uint64_t record) {
  const SampleInfo info = source.info(record);
  const std::string name = class_name(source.schema(), info.label);
  Json out;
  out["record"] = record;
  put_key(out, source.key(record));
  out["label"] = info.label < 0 ? Json() : Json(info.label);
  out["class"] = name.empty() ? Json() : Json(json_text(name));
  out["codec"] = codec_name(info.codec);
  out["width"] = info.width;
  out["height"] = info.height;
  return out;
}

}  // namespace tundish::cli
