#include "cli/record.h"

#include "data/pack/reader.h"

namespace tundish::cli {

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
