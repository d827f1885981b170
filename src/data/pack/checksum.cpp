#include "data/pack/checksum.h"

#include <array>

namespace tundish {

std::uint32_t begin_piece_crc(std::uint64_t record, std::uint32_t piece) {
  std::array<std::byte, 12> prefix;
  store(prefix.data(), record);
  store(prefix.data() + 8, piece);
  return crc32c(prefix);
}

std::uint32_t piece_crc(std::uint64_t record, std::uint32_t piece, Bytes payload) {
  return mask_crc(crc32c(payload, begin_piece_crc(record, piece)));
}

}  // namespace tundish
