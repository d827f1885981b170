#include <bit>

#include "lanes/jpeg_nonzero.h"
#include "lanes/jpeg_scan_walk.h"

namespace tundish::lanes {
namespace {

constexpr int kMaxRun = 0x7fff;
// libjpeg ends a run when the next block could overflow its buffer for 1,000 correction bits.
constexpr int kCorrectionBits = 1000;
constexpr int kFullCorrections = kCorrectionBits - 64 + 1;

// The first bits of DC: differences, as in a sequential scan.
class DcFirstCoder {
 public:
  explicit DcFirstCoder(const ScanSource& source) : low_(source.header.low) {
    for (int s = 0; s < source.header.components; ++s) {
      codes_[s] = &source.tables.dc[source.header.component[s].dc];
    }
  }

  void block(Bits& bits, const Block& block, int slot) {
    const int dc = block[0] >> low_;
    seen_ |= bits.put_value(*codes_[slot], 0, dc - last_[slot]);
    last_[slot] = dc;
  }
  void end_interval(Bits&) { std::fill(std::begin(last_), std::end(last_), 0); }
  bool missed() const { return (seen_ & kMissingCode) != 0; }

 private:
  const int low_;
  const Codes* codes_[kMaxComponents] = {};
  int last_[kMaxComponents] = {};
  std::uint32_t seen_ = 0;
};

// One more bit of DC.
class DcRefineCoder {
 public:
  explicit DcRefineCoder(const ScanSource& source) : low_(source.header.low) {}
  void block(Bits& bits, const Block& block, int) {
    bits.put(static_cast<unsigned>(block[0]) >> low_ & 1, 1);
  }
  void end_interval(Bits&) {}
  bool missed() const { return false; }

 private:
  const int low_;
};

// What both kinds of AC scans share: runs of blocks without further values, which are coded when
// the next value comes. Some encoders join none or few: their tables lack the codes for more.
class AcCoder {
 public:
  explicit AcCoder(const ScanSource& source)
      : codes_(source.tables.ac[source.header.component[0].ac]), low_(source.header.low) {
    for (int z = source.header.first; z <= source.header.last; ++z) band_ |= 1ull << z;
    last_ = source.header.last;
    before_first_ = source.header.first - 1;
    for (int size = 0; size < 15; ++size) {
      if (codes_.has(size, 0)) longest_ = (2 << size) - 1;
    }
  }

  void end_interval(Bits& bits) { end_run(bits); }
  bool missed() const { return (seen_ & kMissingCode) != 0; }

 protected:
  void put_symbol(Bits& bits, int run, int size) {
    bits.put_code(codes_.of(run, size), 0, 0);
    seen_ |= codes_.of(run, size);
  }

  // The run's length in size bits without the highest, then the correction bits of its blocks.
  void end_run(Bits& bits) {
    if (run_ == 0) return;
    const int size = static_cast<int>(std::bit_width(static_cast<unsigned>(run_))) - 1;
    const std::uint32_t entry = codes_.of(size, 0);
    bits.put_code(entry, static_cast<unsigned>(run_) & ((1u << size) - 1), size);
    seen_ |= entry;
    run_ = 0;
    put_corrections(bits, 0, kept_);
    kept_ = 0;
  }

  void put_corrections(Bits& bits, int begin, int count) {
    for (int i = begin; i < begin + count; ++i) bits.put(corrections_[i], 1);
  }

  const Codes& codes_;
  const int low_;
  std::uint64_t band_ = 0;  // bit z: coefficient z of the zigzag belongs to the scan
  int last_, before_first_;
  int longest_ = kMaxRun;
  int run_ = 0;   // blocks
  int kept_ = 0;  // correction bits of these blocks
  std::uint32_t seen_ = 0;
  std::uint8_t corrections_[kCorrectionBits + 64];
};

// The first bits of AC coefficients.
class AcFirstCoder : public AcCoder {
 public:
  using AcCoder::AcCoder;

  void block(Bits& bits, const Block& block, int) {
    int previous = before_first_;
    for (std::uint64_t mask = nonzero_mask(block) & band_; mask != 0; mask &= mask - 1) {
      const int place = std::countr_zero(mask);
      const int whole = block[kZigzag[place]];
      const int value = whole < 0 ? -(-whole >> low_) : whole >> low_;
      if (value == 0) continue;
      end_run(bits);
      int zeros = place - previous - 1;
      previous = place;
      for (; zeros > 15; zeros -= 16) put_symbol(bits, 15, 0);
      seen_ |= bits.put_value(codes_, zeros, value);
    }
    if (previous != last_ && ++run_ == longest_) end_run(bits);
  }
};

// One more bit of AC coefficients: those that had bits already get a correction bit each, behind
// the symbol that passes over them.
class AcRefineCoder : public AcCoder {
 public:
  using AcCoder::AcCoder;

  void block(Bits& bits, const Block& block, int) {
    std::uint64_t known = 0, fresh = 0;  // coefficients with earlier bits, and new ones
    for (std::uint64_t mask = nonzero_mask(block) & band_; mask != 0; mask &= mask - 1) {
      const int place = std::countr_zero(mask);
      const int value = std::abs(int{block[kZigzag[place]]}) >> low_;
      if (value > 1) known |= 1ull << place;
      if (value == 1) fresh |= 1ull << place;
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
        put_symbol(bits, 15, 0);
        put_corrections(bits, begin, count);
        begin = count = 0;
      }
      const int whole = block[kZigzag[place]];
      if (known >> place & 1) {
        corrections_[begin + count++] = static_cast<std::uint8_t>(std::abs(whole) >> low_ & 1);
        continue;
      }
      end_run(bits);
      put_symbol(bits, zeros, 1);
      bits.put(whole < 0 ? 0 : 1, 1);
      put_corrections(bits, begin, count);
      begin = count = zeros = 0;
    }
    zeros += last_ - place;
    if (zeros == 0 && count == 0) return;
    kept_ = begin + count;
    if (++run_ == longest_ || kept_ > kFullCorrections) end_run(bits);
  }
};

template <class Coder>
const char* write_with(Output& out, const ScanSource& source) {
  Coder coder(source);
  return walk_scan(out, source, coder);
}

}  // namespace

const char* write_progressive_scan(Output& out, const ScanSource& source) {
  const bool refines = source.header.high > 0;
  if (source.header.first == 0) {
    return refines ? write_with<DcRefineCoder>(out, source) : write_with<DcFirstCoder>(out, source);
  }
  return refines ? write_with<AcRefineCoder>(out, source) : write_with<AcFirstCoder>(out, source);
}

}  // namespace tundish::lanes
