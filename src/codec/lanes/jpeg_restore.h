// Restore data as bytes; jpeg_file.h has the format.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "codec/lanes/coefficients.h"
#include "codec/lanes/restore_taker.h"

namespace tundish::lanes {

// An interval whose last byte is filled up with other bits than usual.
struct OddPadding {
  std::uint64_t interval;  // counted through the file
  std::uint8_t bits;
};

// Lists that were read stay as they are in the restore data, `coded`: a few kilobytes of these,
// expanded, could ask for gigabytes as a vector. A reader takes one number after the other.
struct Coded {
  Bytes bytes = {};
  std::uint32_t count = 0;
};

struct Padding {
  std::uint8_t usual = 0xff;
  std::vector<OddPadding> odd;  // in order
  Coded coded = {};             // instead of `odd`
};

// What the last bytes of all intervals show, whose padding may be any number of low bits. Right if
// the padding of each interval is all zeros or all ones.
Padding make_padding(const std::vector<std::uint8_t>& last_bytes);

// Longer, and right for any padding.
Padding make_full_padding(const std::vector<std::uint8_t>& last_bytes);

// A progressive AC scan whose runs end where libjpeg's would not.
struct OddRuns {
  std::uint32_t scan = 0;           // of the file
  std::vector<std::uint32_t> ends;  // last blocks of runs that could have gone on, in order
  Coded coded = {};                 // instead of `ends`
};

// One end of a run after the other.
class RunEnds {
 public:
  explicit RunEnds(const OddRuns* runs) : runs_(runs) {  // nullptr: none
    if (runs_ != nullptr) coded_ = {runs_->coded.bytes};
    take();
  }

  // Whether a run ends at this block; then the next end is waited for.
  bool end_at(std::uint32_t block) {
    if (!waits_ || end_ != block) return false;
    take();
    return true;
  }

 private:
  void take() {
    waits_ =
        runs_ != nullptr && taken_ < std::max<std::size_t>(runs_->coded.count, runs_->ends.size());
    if (!waits_) return;
    end_ = runs_->coded.count > 0 ? next_ + coded_.varint() : runs_->ends[taken_];
    next_ = end_ + 1;
    ++taken_;
  }

  const OddRuns* runs_;
  Taker coded_ = {};
  std::size_t taken_ = 0;
  std::uint32_t next_ = 0, end_ = 0;
  bool waits_ = false;
};

// Bytes after the data of a scan, before the next marker.
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

// The most blocks beyond the edges of a component that any sampling factors give: an MCU has at
// most 4 x 4 blocks of it, and at least one of them holds pixels.
std::size_t most_edges(const Component& component);

// `out` points into the bytes. The memory taken is bounded by the image, whatever the bytes: the
// edges by most_edges(), runs and tails by max_scans.
std::optional<Fault> read_restore(Restore& out, Bytes bytes, const Geometry& geometry,
                                  std::uint32_t max_scans);

}  // namespace tundish::lanes
