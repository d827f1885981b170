#include "base/version.h"

namespace tundish {

const char* version() { return TUNDISH_VERSION; }

}  // namespace tundish
