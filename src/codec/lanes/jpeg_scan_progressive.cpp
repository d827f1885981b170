#include "codec/lanes/jpeg_scan_ac.h"
#include "codec/lanes/jpeg_scan_walk.h"

namespace tundish::lanes {
namespace {

// Codes the first bits of DC: differences, as in a sequential scan.
class DcFirstCoder {
 public:
  static constexpr std::ptrdiff_t kRoom = 64;

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

// Codes one more bit of DC.
class DcRefineCoder {
 public:
  static constexpr std::ptrdiff_t kRoom = 64;

  explicit DcRefineCoder(const ScanSource& source) : low_(source.header.low) {}
  void block(Bits& bits, const Block& block, int) {
    bits.put(static_cast<unsigned>(block[0]) >> low_ & 1, 1);
  }
  void end_interval(Bits&) {}
  bool missed() const { return false; }

 private:
  const int low_;
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
