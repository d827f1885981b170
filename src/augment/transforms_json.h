// Transforms as JSON, and back again: [{"name": "Resize", "size": [224, 224]}, ...]. Arguments at
// their default are left out, so a new argument changes no fingerprint and no saved state.
#pragma once

#include "augment/transforms.h"
#include "core/fields_json.h"

namespace tundish {

Json transforms_json(const Transforms& transforms);
// Does not check ranges: check_transforms() does. Throws Error(argument).
Transforms read_transforms(const Json& from);

// As a field of a described struct.
inline Json json_of(const Transforms& transforms) { return transforms_json(transforms); }
inline bool read_json(Transforms& to, const Json& from) {
  to = read_transforms(from);
  return true;
}

// The reference page of every transform: core/fields_json.h.
Json transforms_reference();

}  // namespace tundish
