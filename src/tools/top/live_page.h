// The page of `tundish top --serve`: one file without anything from elsewhere.
#pragma once

#include <string_view>

namespace tundish {

extern const std::string_view kLivePage;

}  // namespace tundish
