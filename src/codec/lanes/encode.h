// Writes one unit: 32 entropy coders whose words share one stream. See docs/internals/lanes.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "codec/lanes/symbols.h"
#include "codec/lanes/tables.h"

namespace tundish::lanes {

// Bytes of a unit's fixed part: u16 number of words, u32 state of every lane. A narrow unit has
// kNarrow as its number of words, no words, and 16-bit states.
inline constexpr int kUnitHeadBytes = 2 + 4 * kLanes;
inline constexpr int kNarrowHeadBytes = 2 + 2 * kLanes;
inline constexpr std::uint32_t kNarrow = 1u << 15;

// A state is in [2^15, 2^31); a lane with a lower state takes the next word.
inline constexpr std::uint32_t kLowState = 1u << 15;
inline constexpr int kHighStateBits = 31;

// Reuses its memory from unit to unit. Not thread-safe.
class UnitEncoder {
 public:
  // Appends the coded unit, which has an even number of bytes.
  void encode(std::vector<std::byte>& out, const UnitSymbols& symbols, const Tables& tables,
              int set);

 private:
  // One item that a lane writes: a symbol of a table (frequency > 1 or bits = 10), or raw bits
  // (frequency 1, stored in `low`).
  struct Step {
    std::uint16_t low;
    std::uint16_t frequency;
    std::uint8_t bits;
    std::uint8_t lane;
  };

  void bits(int lane, unsigned value, int count);
  void symbol(int lane, int table, unsigned symbol, const Tables& tables);
  void end_step();  // writes the escapes of the symbols since the last call
  void starts(const UnitSymbols& symbols, const Tables& tables);
  void masks(const UnitSymbols& symbols, const Tables& tables);
  void values(const UnitSymbols& symbols, const Tables& tables);
  void raw_bits(const UnitSymbols& symbols);
  std::uint32_t read_raw(int at, int count) const;
  std::uint32_t first_state(int lane, int& raw) const;
  bool find_narrow_states(std::uint32_t* state, int& raw) const;
  void find_states(std::uint32_t* state, int& raw);

  int set_ = 0;

  // Room for the largest unit: a start and eight masks per block, all escaped, and all values.
  static constexpr int kMaxSteps = 2 * (kMaxBlocks * (1 + kOctets) + kMaxValues);

  std::vector<Step> steps_ = std::vector<Step>(kMaxSteps);
  Step* end_ = nullptr;              // end of the used part of steps_
  std::vector<Step> escapes_;        // escapes of table symbols, until end_step()
  std::vector<std::uint16_t> high_;  // high bits of escaped values
  std::vector<std::uint16_t> raw_;
  int raw_size_ = 0;                  // bits in raw_
  std::vector<std::uint16_t> words_;  // last one first
  std::uint64_t cost_[kLanes] = {};   // bits of each lane's steps, in 1/65536
};

}  // namespace tundish::lanes
