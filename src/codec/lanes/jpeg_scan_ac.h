// Coders of AC scans in a progressive file. A Sink takes bits: Bits, or a class that counts bits.
#pragma once

#include <bit>
#include <cstdlib>

#include "codec/lanes/jpeg_nonzero.h"
#include "codec/lanes/jpeg_scan.h"

namespace tundish::lanes {

// Common part of both coders: runs of blocks without further values, coded when the next value
// arrives. Some encoders join few blocks or none: their tables lack the codes for longer runs.
class AcCoder {
 public:
  // Maximum correction bits of a run.
  static constexpr int kCorrections = 1 << 16;
  // Maximum bytes of a block and the run that it ends: stuffing doubles the size.
  static constexpr std::ptrdiff_t kRoom = 1024 + 2 * kCorrections / 8;

  explicit AcCoder(const ScanSource& source)
      : codes_(source.tables.ac[source.header.component[0].ac]),
        low_(source.header.low),
        before_first_(source.header.first - 1),
        last_(source.header.last),
        odd_(source.odd_runs),
        ends_(source.odd_runs) {
    for (int z = source.header.first; z <= last_; ++z) band_ |= 1ull << z;
    for (int size = 0; size < 15; ++size) {
      if (codes_.has(size, 0)) longest_ = (2 << size) - 1;
    }
    corrections_.resize(static_cast<std::size_t>(source.header.high > 0 ? kCorrections : 0));
  }

  template <class Sink>
  void end_interval(Sink& bits) {
    end_run(bits);
  }
  bool missed() const { return (seen_ & kMissingCode) != 0; }

 protected:
  // libjpeg ends a run if the next block could overflow its buffer for 1,000 correction bits.
  static constexpr int kFullOfLibjpeg = 1000 - 64 + 1;
  static constexpr int kFull = kCorrections - 64 + 1;

  // Writes the run's length without its highest bit, then the correction bits of the run's blocks.
  template <class Sink>
  void end_run(Sink& bits) {
    if (run_ == 0) return;
    const int size = static_cast<int>(std::bit_width(static_cast<unsigned>(run_))) - 1;
    const std::uint32_t entry = codes_.of(size, 0);
    bits.put_code(entry, static_cast<unsigned>(run_) & ((1u << size) - 1), size);
    seen_ |= entry;
    run_ = 0;
    put_corrections(bits, 0, kept_);
    kept_ = 0;
  }

  // Adds a block without further values to the run.
  template <class Sink>
  void join_run(Sink& bits) {
    ++run_;
    bool ends = run_ == longest_ || kept_ > (odd_ == nullptr ? kFullOfLibjpeg : kFull);
    if constexpr (requires { bits.ends_run(codes_, run_, block_); }) {
      ends = bits.ends_run(codes_, run_, block_) || ends;
    } else {
      ends = ends_.end_at(block_) || ends;
    }
    if (ends) end_run(bits);
  }

  template <class Sink>
  void put_corrections(Sink& bits, int begin, int count) {
    for (int i = begin; i < begin + count; ++i) {
      bits.put(corrections_[static_cast<std::size_t>(i)], 1);
    }
  }

  const Codes& codes_;
  const int low_;
  const int before_first_, last_;
  const OddRuns* const odd_;  // nullptr: runs end as in libjpeg
  RunEnds ends_;              // ends of odd_
  std::uint64_t band_ = 0;    // bit z: coefficient z of the zigzag belongs to the scan
  int longest_ = 0x7fff;
  std::uint32_t block_ = 0;  // number of the block in the scan
  int run_ = 0;              // blocks
  int kept_ = 0;             // correction bits of the blocks in the run
  std::uint32_t seen_ = 0;   // all entries used; reveals the bit of a missing code
  std::vector<std::uint8_t> corrections_;
};

// Encodes the first bits of AC coefficients.
class AcFirstCoder : public AcCoder {
 public:
  using AcCoder::AcCoder;

  template <class Sink>
  void block(Sink& to, const Block& block, int) {
    Sink bits = to;
    int previous = before_first_;
    for (std::uint64_t mask = nonzero_mask(block) & band_; mask != 0; mask &= mask - 1) {
      const int place = std::countr_zero(mask);
      const int whole = block[kZigzag[place]];
      const int value = whole < 0 ? -(-whole >> low_) : whole >> low_;
      if (value == 0) continue;
      end_run(bits);
      int zeros = place - previous - 1;
      previous = place;
      for (; zeros > 15; zeros -= 16) seen_ |= bits.put_symbol(codes_, 15, 0);
      seen_ |= bits.put_value(codes_, zeros, value);
    }
    if (previous != last_) join_run(bits);
    ++block_;
    to = bits;
  }
};

// Encodes one more bit of AC coefficients. Coefficients that already had bits get a correction bit
// each, after the symbol that skips them.
class AcRefineCoder : public AcCoder {
 public:
  using AcCoder::AcCoder;

  template <class Sink>
  void block(Sink& to, const Block& block, int) {
    Sink bits = to;
    std::uint64_t known = 0, fresh = 0;  // coefficients with earlier bits, and new ones
    for (std::uint64_t mask = nonzero_mask(block) & band_; mask != 0; mask &= mask - 1) {
      const int place = std::countr_zero(mask);
      const int value = std::abs(int{block[kZigzag[place]]}) >> low_;
      known |= std::uint64_t{value > 1} << place;
      fresh |= std::uint64_t{value == 1} << place;
    }
    const int last_fresh = 63 - std::countl_zero(fresh);  // -1: none

    int zeros = 0;
    int begin = kept_, count = 0;  // correction bits of this block
    int place = before_first_;
    for (std::uint64_t mask = known | fresh; mask != 0; mask &= mask - 1) {
      zeros += std::countr_zero(mask) - place - 1;
      place = std::countr_zero(mask);
      for (; zeros > 15 && place <= last_fresh; zeros -= 16) {
        end_run(bits);
        seen_ |= bits.put_symbol(codes_, 15, 0);
        put_corrections(bits, begin, count);
        begin = count = 0;
      }
      const int whole = block[kZigzag[place]];
      if (known >> place & 1) {
        corrections_[static_cast<std::size_t>(begin + count++)] =
            static_cast<std::uint8_t>(std::abs(whole) >> low_ & 1);
        continue;
      }
      end_run(bits);
      seen_ |= bits.put_symbol(codes_, zeros, 1);
      bits.put(whole < 0 ? 0 : 1, 1);
      put_corrections(bits, begin, count);
      begin = count = zeros = 0;
    }
    if (zeros + last_ - place > 0 || count > 0) {
      kept_ = begin + count;
      join_run(bits);
    }
    ++block_;
    to = bits;
  }
};

}  // namespace tundish::lanes
