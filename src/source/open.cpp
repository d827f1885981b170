#include "source/open.h"

#include <sys/stat.h>

#include "core/file.h"
#include "source/image_folder.h"

namespace tundish {

std::shared_ptr<const Source> open_loose(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) throw_errno(path, "stat", false);
  if (S_ISDIR(status.st_mode)) return open_image_folder(path);
  throw Error(ErrorCode::source_unknown, {.file = path}, "");
}

}  // namespace tundish
