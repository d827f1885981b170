// Writes the entropy-coded data of one scan.
#pragma once

#include "codec/lanes/coefficients.h"
#include "codec/lanes/jpeg_bits.h"
#include "codec/lanes/jpeg_codes.h"
#include "codec/lanes/jpeg_markers.h"
#include "codec/lanes/jpeg_restore.h"

namespace tundish::lanes {

// Iterates over the padding bits of the last byte of each interval.
class PaddingReader {
 public:
  explicit PaddingReader(const Padding& padding)
      : padding_(&padding), coded_{padding.coded.bytes}, coded_left_(padding.coded.count) {
    take_coded();
  }

  std::uint8_t next() {
    const std::uint64_t interval = interval_++;
    if (padding_->coded.count > 0) {
      if (coming_.interval != interval) return padding_->usual;
      const std::uint8_t bits = coming_.bits;
      take_coded();
      return bits;
    }
    if (odd_ == padding_->odd.size() || padding_->odd[odd_].interval != interval) {
      return padding_->usual;
    }
    return padding_->odd[odd_++].bits;
  }

  std::uint64_t interval() const { return interval_; }  // number of the next interval

 private:
  void take_coded() {
    if (coded_left_ == 0) {
      coming_.interval = ~std::uint64_t{0};
      return;
    }
    --coded_left_;
    coming_.interval = coded_next_ + coded_.varint();
    coming_.bits = coded_.u8();
    coded_next_ = coming_.interval + 1;
  }

  const Padding* padding_;
  std::uint64_t interval_ = 0;
  std::size_t odd_ = 0;
  Taker coded_;  // remaining bytes of padding_->coded
  std::uint32_t coded_left_;
  std::uint64_t coded_next_ = 0;
  OddPadding coming_ = {};
};

// Input of a scan writer. The coefficients must have as many blocks as the geometry, and the
// geometry must match the frame.
struct ScanSource {
  const Coefficients& coefficients;
  const Frame& frame;
  const ScanHeader& header;
  const CodeTables& tables;
  int restart_interval;     // in MCUs; 0: none
  const Blocks* edges;      // per component; see Restore
  const OddRuns* odd_runs;  // nullptr: none
  PaddingReader& padding;
};

// Returns the reason if the scan cannot be written, nullptr on success.
const char* write_scan(Output& out, const ScanSource& source);

}  // namespace tundish::lanes
