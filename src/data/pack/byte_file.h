// Bytes from which a pack is read: a file, or memory in tests and fuzzers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

#include "base/bytes.h"
#include "base/file.h"
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

class DiskBytes : public ByteFile {
 public:
  explicit DiskBytes(File file) : file_(std::move(file)), size_(file_.size()) {}
  std::uint64_t size() const override { return size_; }
  const std::string& path() const override { return file_.path(); }
  std::string times() const override { return std::to_string(content_stamp(file_.path())); }
  std::size_t read_at(std::span<std::byte> out, std::uint64_t offset) const override {
    return file_.read_at(out, offset);
  }

 private:
  File file_;
  std::uint64_t size_;
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
