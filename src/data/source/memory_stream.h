// A byte stream over memory.
#pragma once

#include <algorithm>

#include "data/source/byte_stream.h"

namespace tundish {

class MemoryStream : public ByteStream {
 public:
  explicit MemoryStream(Bytes bytes) : bytes_(bytes) {}  // keeps a view
  std::size_t read(std::span<std::byte> out) override {
    const std::size_t bytes = std::min(out.size(), bytes_.size() - offset_);
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset_), bytes, out.begin());
    offset_ += bytes;
    return bytes;
  }
  std::uint64_t skip(std::uint64_t bytes) override {
    bytes = std::min<std::uint64_t>(bytes, bytes_.size() - offset_);
    offset_ += bytes;
    return bytes;
  }
  std::optional<std::uint64_t> left() const override { return bytes_.size() - offset_; }
  std::uint64_t offset() const override { return offset_; }

 private:
  Bytes bytes_;
  std::size_t offset_ = 0;
};

}  // namespace tundish
