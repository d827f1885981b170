// A plan as JSON: for `tundish view --state`, and for whoever wants to do the same with another
// library.
#pragma once

#include "augment/plan.h"
#include "base/fields_json.h"

namespace tundish {

// {"image": [w, h], "size": [w, h], "steps": [...]}: a resize has "crop", "size", "keep" and the
// like, an operation on pixels "op" and its numbers.
Json plan_json(const View& view);

}  // namespace tundish
