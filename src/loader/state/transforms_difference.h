// Describes how two lists of transforms differ, for an error message.
#pragma once

#include <string>

#include "base/fields_json.h"

namespace tundish {

// Returns the first difference between the JSON of two lists (or several, for views), such as
// "transforms[0], RandomResizedCrop: size=[192,192], here [224,224]". Truncates long saved values.
std::string transforms_difference(const Json& saved, const Json& here);

}  // namespace tundish
