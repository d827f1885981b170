// Bytes that any thread may read at any place: a file, or memory that something was unpacked into.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/file.h"

namespace tundish {

class ByteStore {
 public:
  explicit ByteStore(const std::string& path);                 // a file; throws Error
  ByteStore(std::vector<std::byte> memory, std::string path);  // `path` is for messages

  std::uint64_t size() const { return size_; }
  const std::string& path() const { return path_; }
  bool in_memory() const { return !file_.is_open(); }
  Bytes memory() const { return memory_; }  // empty of a file
  // Changes whenever the file was written again; of a file as it was opened, of memory as the file
  // is now. Throws Error if that file is missing.
  std::uint64_t stamp() const;

  // Fills `out`. Throws Error: io_read; source_changed when there are fewer bytes.
  void read_at(std::span<std::byte> out, std::uint64_t offset) const;

 private:
  std::string path_;
  File file_;
  std::vector<std::byte> memory_;
  std::uint64_t size_ = 0;   // when it was opened
  std::uint64_t stamp_ = 0;  // of a file
};

using SharedStore = std::shared_ptr<const ByteStore>;

// Whether `bytes` bytes from `offset` are inside of `size`.
constexpr bool range_fits(std::uint64_t offset, std::uint64_t bytes, std::uint64_t size) {
  return bytes <= size && offset <= size - bytes;
}

// What is unpacked or converted when a data set is opened has at most so many bytes.
inline constexpr std::uint64_t kMaxUnpackedBytes = 1ull << 30;

}  // namespace tundish
