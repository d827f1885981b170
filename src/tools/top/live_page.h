// The page of `tundish top --serve`: a single file without external resources.
#pragma once

#include <string_view>

namespace tundish {

extern const std::string_view kLivePage;

}  // namespace tundish
