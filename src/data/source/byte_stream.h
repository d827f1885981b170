// Bytes read from front to end: a file, or the output of a decompressor.
// One thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/bytes.h"
#include "base/file.h"

namespace tundish {

class ByteStream {
 public:
  virtual ~ByteStream() = default;

  // Reads up to out.size() bytes, fewer only at the end. Throws Error.
  virtual std::size_t read(std::span<std::byte> out) = 0;

  // Skips `bytes`; returns the number skipped, fewer only at the end. The default reads them.
  virtual std::uint64_t skip(std::uint64_t bytes);

  // Returns the bytes from here to the end, if known without reading.
  virtual std::optional<std::uint64_t> left() const { return {}; }

  virtual std::uint64_t offset() const = 0;  // bytes read or skipped so far
};

class FileStream : public ByteStream {
 public:
  explicit FileStream(const File& file) : file_(file), size_(file.size()) {}  // keeps a reference
  std::size_t read(std::span<std::byte> out) override;
  std::uint64_t skip(std::uint64_t bytes) override;
  std::optional<std::uint64_t> left() const override { return size_ - offset_; }
  std::uint64_t offset() const override { return offset_; }

 private:
  const File& file_;
  std::uint64_t size_;
  std::uint64_t offset_ = 0;
};

}  // namespace tundish
