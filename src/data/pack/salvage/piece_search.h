// Finds the end of a piece whose length is lost: tests after every byte whether the next four bytes
// are the checksum of all bytes before them. One place in 2^32 fits by chance, so callers check
// what follows.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "data/pack/byte_file.h"

namespace tundish {

// Access to bytes anywhere in a file, read in large parts. One thread.
class ByteWindow {
 public:
  explicit ByteWindow(const ByteFile& file) : file_(file) {}

  // Returns the bytes from `offset` on: at least `bytes` bytes, unless the file ends first.
  Bytes at(std::uint64_t offset, std::size_t bytes);
  std::uint64_t size() const { return file_.size(); }

 private:
  const ByteFile& file_;
  std::vector<std::byte> buffer_;
  std::uint64_t begin_ = 0;
};

// A piece that could begin at one place, as part of one of several records.
struct PieceEnd {
  std::uint64_t payload_end = 0;  // offset of its checksum
  std::uint64_t record = 0;
};

// Visits, in ascending order, every place where the piece that begins at `begin` could end, with at
// most `most` bytes of payload, as number `piece` of any of `records`. Returns the first place for
// which accept() returns true. Never reads past the end of the file.
std::optional<PieceEnd> find_piece_end(ByteWindow& window, std::uint64_t begin, std::uint32_t piece,
                                       std::span<const std::uint64_t> records, std::uint64_t most,
                                       const std::function<bool(const PieceEnd&)>& accept);

}  // namespace tundish
