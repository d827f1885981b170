// Looks for the end of a piece whose length is lost: behind every byte, whether the next four are
// the checksum of all before. One in 2^32 places fits by chance, so what follows must be looked at.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "data/pack/byte_file.h"

namespace tundish {

// Bytes of a file from any place on, read in large parts. One thread.
class ByteWindow {
 public:
  explicit ByteWindow(const ByteFile& file) : file_(file) {}

  // The bytes from `offset` on, at least `bytes` of them where the file has so many.
  Bytes at(std::uint64_t offset, std::size_t bytes);
  std::uint64_t size() const { return file_.size(); }

 private:
  const ByteFile& file_;
  std::vector<std::byte> buffer_;
  std::uint64_t begin_ = 0;
};

// A piece that could begin at one place, as one of several records.
struct PieceEnd {
  std::uint64_t payload_end = 0;  // where its checksum is
  std::uint64_t record = 0;
};

// Every place, ascending, where the piece that begins at `begin` could end with at most `most`
// bytes of payload, as number `piece` of any of `records`, until accept() gives true; that one is
// returned. Bytes up to the end of the file at most are looked at.
std::optional<PieceEnd> find_piece_end(ByteWindow& window, std::uint64_t begin, std::uint32_t piece,
                                       std::span<const std::uint64_t> records, std::uint64_t most,
                                       const std::function<bool(const PieceEnd&)>& accept);

}  // namespace tundish
