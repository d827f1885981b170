// A plan as JSON, for `tundish view --state`, and for users who want to run a plan with another
// library.
#pragma once

#include "augment/plan.h"
#include "base/fields_json.h"

namespace tundish {

// {"image": [w, h], "size": [w, h], "steps": [...]}: a resize has "crop", "size", "keep" and so on;
// an operation on pixels has "op" and its numbers.
Json plan_json(const View& view);

}  // namespace tundish
