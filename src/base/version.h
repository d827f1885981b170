#pragma once

namespace tundish {

const char* version();  // "0.2.0"

}  // namespace tundish
