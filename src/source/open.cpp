#include "source/open.h"

#include <sys/stat.h>

#include <array>

#include "core/file.h"
#include "source/decompress.h"
#include "source/formats/file_list.h"
#include "source/formats/image_folder.h"
#include "source/formats/tar.h"
#include "source/names.h"

namespace tundish {
namespace {

// Compressed, or a header with tar's mark. Archives older than the mark are known by their name.
bool looks_like_tar(const std::string& path) {
  std::array<std::byte, 512> first{};
  const std::size_t got = File::open(path).read_at(first, 0);
  const std::string_view mark(reinterpret_cast<const char*>(first.data()) + 257, 5);
  return sniff_compression(Bytes(first).first(got)) != Compression::none || mark == "ustar";
}

}  // namespace

std::shared_ptr<const Source> open_loose(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) throw_errno(path, "stat", false);
  if (S_ISDIR(status.st_mode)) return open_image_folder(path);
  const std::string name = lower(path);
  if (S_ISREG(status.st_mode)) {
    if (name.ends_with(".csv") || name.ends_with(".tsv")) return open_file_list(path);
    if (name.ends_with(".tar") || looks_like_tar(path)) return open_tar(path);
  }
  throw Error(ErrorCode::source_unknown, {.file = path}, "");
}

}  // namespace tundish
