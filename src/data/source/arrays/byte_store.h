// Bytes that any thread may read at any offset: a file, or memory with unpacked bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/file.h"
#include "data/source/folder_entries.h"

namespace tundish {

class ByteStore {
 public:
  explicit ByteStore(const std::string& path);                 // a file; throws Error
  ByteStore(std::vector<std::byte> memory, std::string path);  // `path` is for messages

  std::uint64_t size() const { return size_; }
  const std::string& path() const { return path_; }
  bool in_memory() const { return !file_.is_open(); }
  Bytes memory() const { return memory_; }  // empty for a file
  // Returns a value that changes whenever the file is rewritten: for a file as it was when opened,
  // for memory as the file is now. Throws Error if the file is missing.
  std::uint64_t stamp() const;

  // Fills `out`. Throws Error: io_read, or source_changed if the store has fewer bytes or the file
  // was written after it was opened.
  void read_at(std::span<std::byte> out, std::uint64_t offset) const;

 private:
  std::string path_;
  File file_;
  std::vector<std::byte> memory_;
  std::uint64_t size_ = 0;   // size when the file was opened
  std::uint64_t stamp_ = 0;  // for a file
  WrittenAt written_;        // for a file
};

using SharedStore = std::shared_ptr<const ByteStore>;

// Returns true if `bytes` bytes from `offset` lie inside `size`.
constexpr bool range_fits(std::uint64_t offset, std::uint64_t bytes, std::uint64_t size) {
  return bytes <= size && offset <= size - bytes;
}

// Limit of the bytes that opening a dataset unpacks or converts.
inline constexpr std::uint64_t kMaxUnpackedBytes = 1ull << 30;

}  // namespace tundish
