#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace tundish {

ErrorCode code_of_errno(int number, bool writing) {
  switch (number) {
    case ENOENT:
      return ErrorCode::source_missing;
    case ENOTDIR:  // a file where a folder is needed
      return writing ? ErrorCode::argument : ErrorCode::source_missing;
    case EACCES:
    case EPERM:
    case EROFS:
      return ErrorCode::no_permission;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return ErrorCode::disk_full;
    case ENOMEM:
      return ErrorCode::no_memory;
    default:
      return writing ? ErrorCode::io_write : ErrorCode::io_read;
  }
}

void throw_errno(const std::string& path, const char* doing, bool writing) {
  const int number = errno;
  const char* limit = number == EFBIG ? " for the limit of this shell (ulimit -f unlimited lifts "
                                        "it) or of the file system"
                                      : "";
  throw Error(code_of_errno(number, writing), {.file = path},
              fmt::format("{}: {}{}", doing, std::strerror(number), limit));
}

File::File(File&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_)) {}

File& File::operator=(File&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(path_, other.path_);
  return *this;
}

File::~File() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

File File::open(const std::string& path) {
  // Checked before opening: opening a pipe would wait for its writer, and a device may do anything.
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) throw_errno(path, "open", false);
  if (!S_ISREG(status.st_mode)) {
    throw Error(ErrorCode::source_unreadable, {.file = path},
                S_ISDIR(status.st_mode) ? "it is a folder" : "it is not a regular file");
  }
  int descriptor;
  do {
    descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  } while (descriptor < 0 && errno == EINTR);
  if (descriptor < 0) throw_errno(path, "open", false);
  return File(descriptor, path);
}

std::uint64_t File::size() const {
  struct stat status;
  if (::fstat(descriptor_, &status) != 0) throw_errno(path_, "fstat", false);
  return static_cast<std::uint64_t>(status.st_size);
}

std::size_t File::read_at(std::span<std::byte> out, std::uint64_t offset) const {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t got = ::pread(descriptor_, out.data() + done, out.size() - done,
                                static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_errno(path_, "read", false);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

void File::write_at(Bytes bytes, std::uint64_t offset) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t put = ::pwrite(descriptor_, bytes.data() + done, bytes.size() - done,
                                 static_cast<off_t>(offset + done));
    if (put < 0 && errno == EINTR) continue;
    if (put == 0) errno = EIO;
    if (put <= 0) throw_errno(path_, "write", true);
    done += static_cast<std::size_t>(put);
  }
}

void read_file(std::vector<std::byte>& out, const std::string& path, std::uint64_t max_bytes) {
  const File file = File::open(path);
  const std::uint64_t size = file.size();
  if (size > max_bytes) {
    throw Error(
        ErrorCode::image_too_large, {.file = path},
        fmt::format("{} bytes, at most {} are allowed", with_commas(size), with_commas(max_bytes)));
  }
  out.resize(size);
  out.resize(file.read_at(out, 0));
}

}  // namespace tundish
