// Describes the handling of the JPEGs as JSON for the provenance of a pack.
#pragma once

#include <string>

#include "data/pack/write/writer.h"

namespace tundish {

std::string provenance_of_lanes(const LanesReport& report);  // empty without JPEGs

}  // namespace tundish
