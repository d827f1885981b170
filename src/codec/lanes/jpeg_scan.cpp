#include "codec/lanes/jpeg_scan.h"

#include <bit>

#include "codec/lanes/jpeg_nonzero.h"
#include "codec/lanes/jpeg_scan_walk.h"

namespace tundish::lanes {
namespace {

int divide_up(int a, int b) { return (a + b - 1) / b; }

// For fewer pixels, tables of small values take more time than they save.
constexpr std::int64_t kFewPixels = 128 * 128;

class SequentialCoder {
 public:
  static constexpr std::ptrdiff_t kRoom = 1024;

  explicit SequentialCoder(const ScanSource& source) {
    for (int s = 0; s < source.header.components; ++s) {
      dc_[s] = &source.tables.dc[source.header.component[s].dc];
      ac_[s] = &source.tables.ac[source.header.component[s].ac];
    }
    const Geometry& geometry = source.coefficients.geometry;
    if (std::int64_t{geometry.width} * geometry.height < kFewPixels) return;
    small_values_ = 2 * SmallCodes::kEnd;
    for (int s = 0; s < source.header.components; ++s) {
      small_[s] = s > 0 && ac_[s] == ac_[s - 1] ? small_[s - 1] : SmallCodes(*ac_[s]);
    }
  }

  void block(Bits& to, const Block& block, int slot) {
    Bits bits = to;  // keeps the state in registers
    const int difference = block[0] - last_dc_[slot];
    last_dc_[slot] = block[0];
    std::uint32_t seen = bits.put_value(*dc_[slot], 0, difference);

    const Codes& codes = *ac_[slot];
    const SmallCodes& small = small_[slot];
    int previous = 0;
    for (std::uint64_t mask = nonzero_mask(block) & ~1ull; mask != 0; mask &= mask - 1) {
      const int place = __builtin_ctzll(mask);
      int run = place - previous - 1;
      previous = place;
      for (; run > 15; run -= 16) seen |= bits.put_symbol(codes, 15, 0);
      const int value = block[kZigzag[place]];
      if (static_cast<unsigned>(value + SmallCodes::kEnd) < small_values_) [[likely]] {
        const std::uint32_t entry = small.of(run, value);
        bits.put_code(entry, 0, 0);
        seen |= entry;
      } else {
        seen |= bits.put_value(codes, run, value);
      }
    }
    if (previous != 63) seen |= bits.put_symbol(codes, 0, 0);
    seen_ |= seen;
    to = bits;
  }

  void end_interval(Bits&) { std::fill(std::begin(last_dc_), std::end(last_dc_), 0); }
  bool missed() const { return (seen_ & kMissingCode) != 0; }

 private:
  const Codes* dc_[kMaxComponents] = {};
  const Codes* ac_[kMaxComponents] = {};
  SmallCodes small_[kMaxComponents];
  unsigned small_values_ = 0;  // number of small values in the tables: 2 * kEnd, or 0
  int last_dc_[kMaxComponents] = {};
  std::uint32_t seen_ = 0;  // all entries used; reveals the bit of a missing code
};

}  // namespace

bool plan_walk(ScanWalk& out, const ScanSource& source) {
  const Geometry& geometry = source.coefficients.geometry;
  const bool interleaved = source.header.components > 1;
  int max_h = 1, max_v = 1;
  for (int c = 0; c < source.frame.components; ++c) {
    max_h = std::max(max_h, source.frame.component[c].h);
    max_v = std::max(max_v, source.frame.component[c].v);
  }
  out.mcus_x = divide_up(geometry.width, kBlock * max_h);
  out.mcus_y = divide_up(geometry.height, kBlock * max_v);
  for (int s = 0; s < source.header.components; ++s) {
    const int c = source.header.component[s].component;
    const Component& component = geometry.component[c];
    ScanSlot& slot = out.slots[s];
    slot.blocks = source.coefficients.blocks[c].data();
    slot.blocks_x = component.blocks_x;
    slot.blocks_y = component.blocks_y;
    slot.edges = nullptr;
    slot.previous = &slot.filler;
    if (!interleaved) {
      slot.h = slot.v = 1;
      slot.filled_x = out.mcus_x = component.blocks_x;
      out.mcus_y = component.blocks_y;
      continue;
    }
    slot.h = source.frame.component[c].h;
    slot.v = source.frame.component[c].v;
    slot.filled_x = out.mcus_x * slot.h;
    const Blocks& edges = source.edges[c];
    if (edges.empty()) continue;
    const auto places = std::int64_t{slot.filled_x} * out.mcus_y * slot.v -
                        std::int64_t{component.blocks_x} * component.blocks_y;
    if (std::ssize(edges) != places) return false;
    slot.edges = edges.data();
  }
  return true;
}

const char* write_scan(Output& out, const ScanSource& source) {
  if (source.frame.marker == kSof2) return write_progressive_scan(out, source);
  SequentialCoder coder(source);
  return walk_scan(out, source, coder);
}

}  // namespace tundish::lanes
