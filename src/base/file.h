// A file descriptor that closes itself, with reads and writes that finish or throw.
// EINTR is retried and short transfers are continued; errors name the file and give errno's text.
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

  // Opens a regular file for reading; anything else is source_unreadable, also a pipe, on which
  // opening could wait for ever. Throws Error(source_missing, no_permission or io_read) too.
  static File open(const std::string& path);

  bool is_open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  const std::string& path() const { return path_; }
  std::uint64_t size() const;  // throws Error(io_read)

  // Reads up to out.size() bytes at offset, fewer only at the end of the file.
  // Any thread. Throws Error(io_read).
  std::size_t read_at(std::span<std::byte> out, std::uint64_t offset) const;

  // Throws Error(disk_full) on ENOSPC, EDQUOT, EFBIG; otherwise Error(io_write).
  void write_at(Bytes bytes, std::uint64_t offset);

 private:
  int descriptor_ = -1;
  std::string path_;
};

// errno as the right error code for reading or writing.
ErrorCode code_of_errno(int number, bool writing);
[[noreturn]] void throw_errno(const std::string& path, const char* doing, bool writing);

// A whole file of at most max_bytes into `out`, whose memory is reused.
// Throws Error (no_permission, io_read, image_too_large when it is over max_bytes).
void read_file(std::vector<std::byte>& out, const std::string& path, std::uint64_t max_bytes);

}  // namespace tundish
