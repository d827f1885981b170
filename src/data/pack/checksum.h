// The checksum behind every piece of a pack.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/crc32c.h"

namespace tundish {

// Returns the checksum stored behind a piece. It covers the record number and the piece number
// first, so that two swapped pieces are detected.
std::uint32_t piece_crc(std::uint64_t record, std::uint32_t piece, Bytes payload);

// The same for a piece in parts: begin, then crc32c(part, sum) for each part, then mask_crc.
std::uint32_t begin_piece_crc(std::uint64_t record, std::uint32_t piece);

}  // namespace tundish
