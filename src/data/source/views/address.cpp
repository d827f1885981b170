#include "data/source/views/address.h"

#include <algorithm>
#include <cctype>
#include <cerrno>

#include "base/error.h"

namespace tundish {

void refuse_address(const std::string& path) {
  const std::size_t colon = path.find("://");
  if (errno != ENOENT || colon == path.npos || colon == 0) return;
  const auto end = path.begin() + static_cast<std::ptrdiff_t>(colon);
  const bool is_scheme = std::all_of(path.begin(), end, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '+' || c == '-';
  });
  if (!is_scheme) return;
  throw Error(
      ErrorCode::source_unknown, {.file = path},
      "it is an address, and only local files are read: download the data (aws s3 sync), or "
      "mount the store as a file system (docs/limits.md)");
}

}  // namespace tundish
