// The checksum after every piece of a pack.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/crc32c.h"

namespace tundish {

// The checksum stored after a piece: its record number and piece number come first, so that
// two pieces that changed places are found.
std::uint32_t piece_crc(std::uint64_t record, std::uint32_t piece, Bytes payload);

// The same for a piece that comes in parts: begin, crc32c(part, sum) for each, mask_crc.
std::uint32_t begin_piece_crc(std::uint64_t record, std::uint32_t piece);

}  // namespace tundish
