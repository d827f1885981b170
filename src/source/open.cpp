#include "source/open.h"

#include <sys/stat.h>

#include "core/file.h"
#include "source/file_list.h"
#include "source/image_folder.h"
#include "source/names.h"

namespace tundish {
std::shared_ptr<const Source> open_loose(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) throw_errno(path, "stat", false);
  if (S_ISDIR(status.st_mode)) return open_image_folder(path);
  const std::string name = lower(path);
  if (S_ISREG(status.st_mode)) {
    if (name.ends_with(".csv") || name.ends_with(".tsv")) return open_file_list(path);
  }
  throw Error(ErrorCode::source_unknown, {.file = path}, "");
}

}  // namespace tundish
