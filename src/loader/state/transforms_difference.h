// In what two lists of transforms differ, for an error.
#pragma once

#include <string>

#include "base/fields_json.h"

namespace tundish {

// Of the JSON of a list, or of several (views): "transforms[0], RandomResizedCrop: size=[192,192],
// here [224,224]". The first place that differs. What a saved state has may be long: it is cut off.
std::string transforms_difference(const Json& saved, const Json& here);

}  // namespace tundish
