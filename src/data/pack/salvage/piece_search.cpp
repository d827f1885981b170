#include "data/pack/salvage/piece_search.h"

#include <algorithm>
#include <array>

#include "base/interruption.h"
#include "data/pack/checksum.h"
#include "data/pack/format.h"

namespace tundish {
namespace {

constexpr std::size_t kWindowBytes = 1 << 20;
constexpr std::size_t kFirstPart = 4096;

constexpr auto kTable = [] {
  std::array<std::uint32_t, 256> out{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? crc >> 1 ^ kCastagnoli : crc >> 1;
    out[byte] = crc;
  }
  return out;
}();

// Running sum of all bytes so far, before the inversion that crc32c() does at both ends.
struct Sum {
  std::uint32_t crc;
  std::uint64_t record;
};

}  // namespace

Bytes ByteWindow::at(std::uint64_t offset, std::size_t bytes) {
  const bool inside = offset >= begin_ && offset - begin_ <= buffer_.size() &&
                      buffer_.size() - (offset - begin_) >= bytes;
  if (!inside && offset < file_.size()) {
    buffer_.resize(std::min<std::uint64_t>(std::max(bytes, kWindowBytes), file_.size() - offset));
    buffer_.resize(file_.read_at(buffer_, offset));
    begin_ = offset;
  } else if (!inside) {
    return {};
  }
  return Bytes(buffer_).subspan(offset - begin_);
}

std::optional<PieceEnd> find_piece_end(ByteWindow& window, std::uint64_t begin, std::uint32_t piece,
                                       std::span<const std::uint64_t> records, std::uint64_t most,
                                       const std::function<bool(const PieceEnd&)>& accept) {
  std::vector<Sum> sums;
  for (const std::uint64_t record : records)
    sums.push_back({~begin_piece_crc(record, piece), record});
  std::vector<std::byte> part;  // a copy: the window moves when accept() reads elsewhere
  std::size_t part_bytes = kFirstPart;
  for (std::uint64_t length = 0; length <= most;
       part_bytes = std::min(2 * part_bytes, kWindowBytes)) {
    check_stop("");
    const Bytes bytes = window.at(begin + length, kCrcBytes + 1);
    if (bytes.size() < kCrcBytes) return std::nullopt;
    part.assign(bytes.begin(),
                bytes.begin() + static_cast<std::ptrdiff_t>(std::min(part_bytes, bytes.size())));
    const std::uint64_t lengths =
        std::min<std::uint64_t>(part.size() - kCrcBytes, most - length) + 1;
    for (const std::byte& byte : Bytes(part).first(static_cast<std::size_t>(lengths))) {
      const auto stored = load<std::uint32_t>(&byte);
      for (Sum& sum : sums) {
        if (mask_crc(~sum.crc) == stored) {
          const auto before = static_cast<std::uint64_t>(&byte - part.data());
          const PieceEnd end{begin + length + before, sum.record};
          if (accept(end)) return end;
        }
        sum.crc = sum.crc >> 8 ^ kTable[(sum.crc ^ static_cast<std::uint32_t>(byte)) & 0xff];
      }
    }
    length += lengths;
  }
  return std::nullopt;
}

}  // namespace tundish
