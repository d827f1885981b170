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

// What the last bytes of all intervals say, whose padding may be any number of low bits. Right if
// the padding of each interval is all zeros or all ones.
Padding make_padding(const std::vector<std::uint8_t>& last_bytes);

// Longer, and right for any padding.
Padding make_full_padding(const std::vector<std::uint8_t>& last_bytes);

// A progressive AC scan whose runs end where libjpeg's would not.
struct OddRuns {
  std::uint32_t scan = 0;           // of the file
  std::vector<std::uint32_t> ends;  // last blocks of runs that could have gone on, in order
};

// Bytes behind the data of a scan, before the next marker.
struct Tail {
  std::uint32_t scan = 0;
  Bytes bytes;
};

struct Restore {
  Padding padding;
  std::vector<OddRuns> odd_runs;  // in order
  std::vector<Tail> tails;        // in order
  Blocks edges[kMaxComponents];   // [0] of a block is the difference of DC
  Bytes literal;
};

// Appends everything but the literal bytes.
void write_restore(std::vector<std::byte>& out, const Restore& restore);

// `out.literal` and tails point into the bytes. The memory taken is at most 64 times that of the
// bytes.
std::optional<Fault> read_restore(Restore& out, Bytes bytes);

}  // namespace tundish::lanes
