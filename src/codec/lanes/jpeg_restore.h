// Restore data as bytes; the format is in jpeg_file.h.
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

// An interval whose last byte has unusual padding bits.
struct OddPadding {
  std::uint64_t interval;  // counted through the file
  std::uint8_t bits;
};

// A list that stays in its coded form in the restore data. Expanded to a vector, a few kilobytes
// could need gigabytes. A reader takes one number at a time.
struct Coded {
  Bytes bytes = {};
  std::uint32_t count = 0;
};

struct Padding {
  std::uint8_t usual = 0xff;
  std::vector<OddPadding> odd;  // in order
  Coded coded = {};             // replaces `odd`
};

// Derives the padding from the last bytes of all intervals; any number of low bits may be padding.
// Correct if the padding of each interval is all zeros or all ones.
Padding make_padding(const std::vector<std::uint8_t>& last_bytes);

// Longer, and correct for any padding.
Padding make_full_padding(const std::vector<std::uint8_t>& last_bytes);

// A progressive AC scan whose runs end where libjpeg's runs would not.
struct OddRuns {
  std::uint32_t scan = 0;           // number of the scan in the file
  std::vector<std::uint32_t> ends;  // last blocks of runs that could have continued, in order
  Coded coded = {};                 // replaces `ends`
};

// Iterates over the ends of runs.
class RunEnds {
 public:
  explicit RunEnds(const OddRuns* runs) : runs_(runs) {  // nullptr: no ends
    if (runs_ != nullptr) coded_ = {runs_->coded.bytes};
    take();
  }

  // Returns whether a run ends at this block; if so, advances to the next end.
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

// Bytes between the data of a scan and the next marker.
struct Tail {
  std::uint32_t scan = 0;
  Bytes bytes;
};

struct Restore {
  Padding padding;
  std::vector<OddRuns> odd_runs;  // in order
  std::vector<Tail> tails;        // in order
  Blocks edges[kMaxComponents];   // [0] of a block is the DC difference
  Bytes literal;
};

// Appends everything except the literal bytes.
void write_restore(std::vector<std::byte>& out, const Restore& restore);

// Returns the maximum number of blocks beyond a component's edges for any sampling factors: an MCU
// has at most 4 x 4 blocks of a component, and at least one of these blocks holds pixels.
std::size_t most_edges(const Component& component);

// Reads restore data; `out` points into the bytes. The image bounds the memory, whatever the bytes:
// edges by most_edges(), runs and tails by max_scans.
std::optional<Fault> read_restore(Restore& out, Bytes bytes, const Geometry& geometry,
                                  std::uint32_t max_scans);

}  // namespace tundish::lanes
