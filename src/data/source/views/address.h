// Addresses of remote data, which are not read.
#pragma once

#include <string>

namespace tundish {

// Throws Error(source_unknown) for s3://bucket/key and similar addresses, if errno is ENOENT: a
// local file may have such a name. Otherwise leaves errno unchanged.
void refuse_address(const std::string& path);

}  // namespace tundish
