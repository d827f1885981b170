// Restore data as bytes; jpeg_file.h has the format.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/bytes.h"
#include "core/error.h"
#include "lanes/coefficients.h"

namespace tundish::lanes {

// An interval whose last byte is filled up with other bits than usual.
struct OddPadding {
  std::uint64_t interval;  // counted through the file
  std::uint8_t bits;
};

struct Padding {
  std::uint8_t usual = 0xff;
  std::vector<OddPadding> odd;  // in order
};

// What the last bytes of all intervals say, whose padding may be any number of low bits.
Padding make_padding(const std::vector<std::uint8_t>& last_bytes);

struct Restore {
  Padding padding;
  std::vector<Block> edges[kMaxComponents];  // [0] of a block is the difference of DC
  Bytes literal;
};

// Appends everything but the literal bytes.
void write_restore(std::vector<std::byte>& out, const Restore& restore);

// `out.literal` points into the bytes. The memory taken is at most 64 times that of the bytes.
std::optional<Fault> read_restore(Restore& out, Bytes bytes);

}  // namespace tundish::lanes
