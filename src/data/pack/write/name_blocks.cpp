#include "data/pack/write/name_blocks.h"

#include "base/bytes.h"
#include "base/error.h"
#include "data/pack/checksum.h"
#include "data/pack/format.h"

namespace tundish {

void NameBlocks::add(const std::string& name) {
  if (name.size() > ~std::uint32_t{0}) {
    throw Error(ErrorCode::argument, {.file = target_}, "a sample's name is longer than 4 GiB");
  }
  names_ += name;
  lengths_.push_back(static_cast<std::uint32_t>(name.size()));
  if (lengths_.size() == kNamesPerBlock) finish();
}

void NameBlocks::finish() {
  if (lengths_.empty()) return;
  const Bytes lengths = std::as_bytes(std::span(lengths_));
  const Bytes names = std::as_bytes(std::span(names_));
  std::uint32_t crc = begin_piece_crc(block_bytes_.size(), kNamesPiece);
  crc = mask_crc(crc32c(names, crc32c(lengths, crc)));
  block_bytes_.push_back(lengths.size() + names.size() + kCrcBytes);
  if (block_bytes_.back() > kMaxNamesBytes) {
    throw Error(ErrorCode::argument, {.file = target_},
                "the names of 1,024 samples take over 256 MiB");
  }
  bytes_.insert(bytes_.end(), lengths.begin(), lengths.end());
  bytes_.insert(bytes_.end(), names.begin(), names.end());
  const Bytes end = std::as_bytes(std::span(&crc, 1));
  bytes_.insert(bytes_.end(), end.begin(), end.end());
  lengths_.clear();
  names_.clear();
}

}  // namespace tundish
