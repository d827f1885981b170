// Iterates over the blocks of a scan in coding order, with the scan's restart markers.
#pragma once

#include "codec/lanes/jpeg_scan.h"

namespace tundish::lanes {

inline constexpr char kTooLong[] = "the file is longer than it may be";
inline constexpr char kNoCode[] = "a coefficient has no code in the Huffman table";
inline constexpr char kEdgeCount[] = "the number of blocks beyond the edge is wrong";

// Bytes for the last bits of an interval and its marker.
inline constexpr std::ptrdiff_t kMarkerRoom = 32;

// One component of a scan.
struct ScanSlot {
  const Block* blocks;
  int blocks_x, blocks_y;
  int h, v;               // blocks per MCU
  int filled_x;           // blocks in a row including MCU padding
  const Block* edges;     // nullptr: the usual padding blocks
  Block filler = {};      // the last padding block returned
  const Block* previous;  // last coded block

  // Returns a block outside of the image; see jpeg_file.h.
  const Block* edge_at(int x, int y) {
    const auto dc = static_cast<std::uint16_t>((*previous)[0]);
    filler = {};
    if (edges != nullptr) {
      const int before = y < blocks_y
                             ? y * (filled_x - blocks_x) + x - blocks_x
                             : blocks_y * (filled_x - blocks_x) + (y - blocks_y) * filled_x + x;
      filler = edges[before];
    }
    filler[0] = static_cast<std::int16_t>(static_cast<std::uint16_t>(filler[0]) + dc);
    return &filler;
  }
};

struct ScanWalk {
  int mcus_x, mcus_y;
  ScanSlot slots[kMaxComponents];
};

// Returns false if the number of edge blocks does not match the padding.
bool plan_walk(ScanWalk& out, const ScanSource& source);

// Requirements of a Coder:
//   kRoom                                       maximum bytes of a block
//   void block(Bits&, const Block&, int slot)   writes a block, or keeps it for a run
//   void end_interval(Bits&)                    writes the kept blocks, and resets the DC
//   bool missed() const                         true if a code was missing
template <class Coder>
const char* walk_scan(Output& out, const ScanSource& source, Coder& coder) {
  ScanWalk walk;
  if (!plan_walk(walk, source)) return kEdgeCount;
  const int slots = source.header.components;
  Bits bits{.to = out.position()};
  int left = source.restart_interval;
  int restarts = 0;
  for (int mcu_y = 0; mcu_y < walk.mcus_y; ++mcu_y) {
    for (int mcu_x = 0; mcu_x < walk.mcus_x; ++mcu_x) {
      if (source.restart_interval > 0 && left-- == 0) {
        coder.end_interval(bits);
        bits.align(source.padding.next());
        *bits.to++ = std::byte{0xff};
        *bits.to++ = std::byte{static_cast<std::uint8_t>(kRst0 + restarts++ % 8)};
        left = source.restart_interval - 1;
      }
      for (int s = 0; s < slots; ++s) {
        ScanSlot& slot = walk.slots[s];
        for (int y = mcu_y * slot.v; y < (mcu_y + 1) * slot.v; ++y) {
          for (int x = mcu_x * slot.h; x < (mcu_x + 1) * slot.h; ++x) {
            if (out.end() - bits.to < Coder::kRoom + kMarkerRoom) {
              out.set_position(bits.to);
              if (!out.make_room(Coder::kRoom + kMarkerRoom)) return kTooLong;
              bits.to = out.position();
            }
            const bool inside = x < slot.blocks_x && y < slot.blocks_y;
            slot.previous =
                inside ? slot.blocks + std::ptrdiff_t{y} * slot.blocks_x + x : slot.edge_at(x, y);
            coder.block(bits, *slot.previous, s);
          }
        }
      }
    }
    if (coder.missed()) return kNoCode;
  }
  coder.end_interval(bits);
  if (coder.missed()) return kNoCode;
  bits.align(source.padding.next());
  out.set_position(bits.to);
  return nullptr;
}

const char* write_progressive_scan(Output& out, const ScanSource& source);

}  // namespace tundish::lanes
