// A file descriptor that closes itself, with reads and writes that either finish or throw.
// Retries EINTR and continues short transfers. Errors contain the file name and errno's text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"

namespace tundish {

class File {
 public:
  File() = default;
  File(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  ~File();

  // Opens a regular file for reading. Anything else is source_unreadable, including a pipe, because
  // opening a pipe could block. Also throws Error(source_missing, no_permission or io_read).
  static File open(const std::string& path);

  bool is_open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  const std::string& path() const { return path_; }
  std::uint64_t size() const;  // throws Error(io_read)

  // Reads up to out.size() bytes at offset; fewer only at the end of the file.
  // Thread-safe. Throws Error(io_read).
  std::size_t read_at(std::span<std::byte> out, std::uint64_t offset) const;

  // Throws Error(disk_full) on ENOSPC, EDQUOT, EFBIG; otherwise Error(io_write).
  void write_at(Bytes bytes, std::uint64_t offset);

 private:
  int descriptor_ = -1;
  std::string path_;
};

// Maps errno to the error code for reading or writing.
ErrorCode code_of_errno(int number, bool writing);
[[noreturn]] void throw_errno(const std::string& path, const char* doing, bool writing);

// Reads a whole file of at most max_bytes into `out`, reusing its memory.
// Throws Error(no_permission, io_read, or image_too_large for a file over max_bytes).
void read_file(std::vector<std::byte>& out, const std::string& path, std::uint64_t max_bytes);

}  // namespace tundish
