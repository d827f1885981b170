#include "source/loose_file.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "core/file.h"
#include "decode/decode.h"

namespace tundish {

void read_loose_file(std::vector<std::byte>& out, const std::string& path, std::uint64_t size,
                     const Where& where) {
  // Asked before opening: to open a pipe would wait for its writer.
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) {
    throw SampleError(code_of_errno(errno, false), where, std::strerror(errno));
  }
  if (!S_ISREG(status.st_mode)) {
    throw SampleError(ErrorCode::source_unreadable, where, "it is not a regular file");
  }
  try {
    read_file(out, path, Limits{}.max_bytes);
  } catch (const SampleError&) {
    throw;
  } catch (const Error& error) {
    throw SampleError(error.code(), where, error.reason());
  }
  if (size != 0 && out.size() != size) {
    throw SampleError(ErrorCode::source_changed, where,
                      fmt::format("it had {} bytes when the source was opened, now {}",
                                  with_commas(size), with_commas(out.size())));
  }
  if (out.empty()) throw SampleError(ErrorCode::file_empty, where, "");
}

}  // namespace tundish
