// Transforms as JSON and back: [{"name": "Resize", "size": [224, 224]}, ...]. Default arguments
// are omitted, so a new argument changes no fingerprint and no saved state.
#pragma once

#include "augment/transforms.h"
#include "base/fields_json.h"

namespace tundish {

Json transforms_json(const Transforms& transforms);
// Does not check ranges; check_transforms() does. Throws Error(argument).
Transforms read_transforms(const Json& from);

// JSON conversion as a field of a described struct.
inline Json json_of(const Transforms& transforms) { return transforms_json(transforms); }
inline bool read_json(Transforms& to, const Json& from) {
  to = read_transforms(from);
  return true;
}

inline Json json_of(const Views& views) {
  Json out = Json::array();
  for (const Transforms& view : views) out.push_back(transforms_json(view));
  return out;
}
inline bool read_json(Views& to, const Json& from) {
  if (!from.is_array()) return false;
  to.clear();
  for (const Json& view : from) to.push_back(read_transforms(view));
  return true;
}

// Returns the reference page of every transform: base/fields_json.h.
Json transforms_reference();

}  // namespace tundish
