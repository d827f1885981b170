#include "source/open.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include "core/file.h"
#include "source/format.h"

namespace tundish {

std::shared_ptr<const Source> open_loose(const std::string& path, const SourceOptions& options) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) throw_errno(path, "stat", false);
  if (!options.format.empty()) {
    if (const Format* format = find_format(options.format)) return format->open(path, options);
    throw Error(ErrorCode::argument, {.file = path},
                fmt::format("no format is called '{}'; there are: {}", printable(options.format),
                            format_names()));
  }
  std::vector<std::byte> first;
  Probe probe{.path = path, .is_folder = S_ISDIR(status.st_mode), .first = {}, .size = 0};
  if (S_ISREG(status.st_mode)) {
    first.resize(kProbeBytes);
    first.resize(File::open(path).read_at(first, 0));
    probe.first = first;
    probe.size = static_cast<std::uint64_t>(status.st_size);
  } else if (!probe.is_folder) {
    throw Error(ErrorCode::source_unknown, {.file = path}, "it is neither a file nor a folder");
  }
  for (const Format& format : formats()) {
    if (format.recognise(probe)) return format.open(path, options);
  }
  throw Error(ErrorCode::source_unknown, {.file = path}, "");
}

}  // namespace tundish
