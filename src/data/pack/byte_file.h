// Bytes from which a pack is read: a file, or memory in tests and fuzzers.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <string>

#include "base/bytes.h"
#include "base/file.h"
#include "data/pack/format.h"
#include "data/source/folder_entries.h"

namespace tundish {

class ByteFile {
 public:
  virtual ~ByteFile() = default;
  virtual std::uint64_t size() const = 0;  // size when the file was opened
  virtual const std::string& path() const = 0;
  // Returns a text that changes when the file is rewritten; empty for memory. Throws Error if the
  // file is missing.
  virtual std::string times() const { return ""; }
  // Reads fewer than out.size() bytes only at the end. Any thread. Throws Error(io_read).
  virtual std::size_t read_at(std::span<std::byte> out, std::uint64_t offset) const = 0;
};

// Reading fails if another pack was written into the file after it was opened. Its records would
// have valid checksums, but labels and places would still come from the index of the first pack.
class DiskBytes : public ByteFile {
 public:
  explicit DiskBytes(File file)
      : file_(std::move(file)), opened_(written_at(file_)), changed_ns_(opened_.changed_ns) {
    file_.read_at(head_, 0);
  }
  std::uint64_t size() const override { return opened_.size; }
  const std::string& path() const override { return file_.path(); }
  std::string times() const override { return std::to_string(content_stamp(file_.path())); }
  std::size_t read_at(std::span<std::byte> out, std::uint64_t offset) const override {
    const std::size_t got = file_.read_at(out, offset);
    if (got == out.size() && written_at(file_).changed_ns != changed_ns_.load()) check_same_pack();
    return got;
  }

 private:
  // Compares the pack's id in the head, so that a pack that was touched or cut off stays readable.
  void check_same_pack() const {
    const WrittenAt now = written_at(file_);
    decltype(head_) head{};
    file_.read_at(head, 0);
    if (head != head_) check_unwritten(file_, opened_);
    changed_ns_.store(now.changed_ns);
  }

  File file_;
  const WrittenAt opened_;
  mutable std::atomic<std::uint64_t> changed_ns_;  // last known modification time of this pack
  std::array<std::byte, kHeadBytes> head_{};
};

// Does not own the bytes.
class MemoryBytes : public ByteFile {
 public:
  MemoryBytes(Bytes bytes, std::string name) : bytes_(bytes), name_(std::move(name)) {}
  std::uint64_t size() const override { return bytes_.size(); }
  const std::string& path() const override { return name_; }
  std::size_t read_at(std::span<std::byte> out, std::uint64_t offset) const override {
    if (offset >= bytes_.size()) return 0;
    const std::size_t got = std::min(out.size(), bytes_.size() - offset);
    std::copy_n(bytes_.data() + offset, got, out.data());
    return got;
  }

 private:
  Bytes bytes_;
  std::string name_;
};

}  // namespace tundish
