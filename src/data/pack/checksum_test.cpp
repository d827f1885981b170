#include "data/pack/checksum.h"

#include <doctest/doctest.h>

#include <array>

namespace tundish {

TEST_CASE("a piece's checksum depends on where the piece belongs") {
  const std::array<std::byte, 4> payload = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  CHECK(piece_crc(1, 0, payload) != piece_crc(0, 0, payload));
  CHECK(piece_crc(0, 1, payload) != piece_crc(0, 0, payload));
  CHECK(piece_crc(0, 0, {}) != 0);  // four zero bytes are no valid empty piece
}

}  // namespace tundish
