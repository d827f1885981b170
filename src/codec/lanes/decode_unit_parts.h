// Parts of the fast decoders that are independent of the register type. Each instruction set
// compiles its own copy, so everything here is internal to the including file.
#pragma once

#include <cstring>

#include "base/host_device.h"
#include "codec/lanes/decode_unit.h"
#include "codec/lanes/encode.h"

namespace tundish::lanes {
namespace {

// Computes where each block's values start, and the parameter of every value. Copies whole rows of
// parameters; the next block's row overwrites the excess. Chroma has few values: half a row is
// nearly always enough.
TUNDISH_INLINE void lay_out_values(UnitValues& out, UnitWork& work, const UnitShape& shape,
                                   const TableSet& set) {
  std::size_t at = 0;
  const auto next = [&](int b, int chroma) {
    const int count = __builtin_popcountll(out.mask[b]);
    const std::uint8_t* row = set.rice[chroma][count];
    out.start[b] = static_cast<std::uint16_t>(at);
    std::memcpy(work.rice + at, row, 32);
    if (chroma == 0 || __builtin_expect(count > 32, 0)) {
      std::memcpy(work.rice + at + 32, row + 32, 32);
    }
    at += static_cast<std::size_t>(count);
  };
  for (int b = 0; b < shape.luma(); ++b) next(b, 0);
  for (int b = shape.luma(); b < shape.blocks(); ++b) next(b, 1);
  std::memset(work.rice + at, 0, kLanes);
  out.blocks = shape.blocks();
  out.start[out.blocks] = static_cast<std::uint16_t>(at);
  out.values = static_cast<int>(at);
}

// Appends bits to 64-bit words.
struct BitWriter {
  std::uint64_t* to;
  std::uint64_t waiting = 0;  // `count` bits not yet stored
  int count = 0;

  // Appends `more` bits, at most 63; all higher bits of `bits` must be 0.
  TUNDISH_INLINE void put(std::uint64_t bits, int more) {
    *to = waiting | bits << count;
    const int total = count + more;
    const bool full = total >= 64;
    const std::uint64_t rest = bits >> 1 >> (63 - count);
    waiting = full ? rest : waiting | bits << count;
    to += full;
    count = total & 63;
  }
};

// Appends the unit's last bytes to the bits from the states; returns false if there are fewer than
// `needed` in total. Bytes after the unit follow the last bit.
TUNDISH_INLINE bool append_raw(UnitWork& work, BitWriter& bits, const UnitHead& head, int needed) {
  const auto known = static_cast<int>(bits.to - work.raw) * 64 + bits.count;
  const int stored = static_cast<int>(head.end - head.words_end) * 8;
  if (needed > known + stored) return false;
  const std::byte* __restrict from = head.words_end;
  std::uint64_t* __restrict to = bits.to;
  const int shift = bits.count;
  to[0] = bits.waiting | load<std::uint64_t>(from) << shift;
  const int words = (needed - known + shift + 63) / 64;
  for (int i = 1; i < words; ++i) {
    const auto before = load<std::uint64_t>(from + 8 * i - 8);
    to[i] = load<std::uint64_t>(from + 8 * i) << shift | before >> 1 >> (63 - shift);
  }
  return true;
}

// Returns the total number of bits of all DC differences.
TUNDISH_INLINE int count_dc_bits(const UnitWork& work, int blocks) {
  int sum = 0;
  for (int b = 0; b < blocks; ++b) sum += work.dc_size[b];
  return sum;
}

// Reads DC from the raw bits after the signs: differences to the previous block of the component.
TUNDISH_INLINE void read_dc(UnitValues& out, const UnitWork& work, const UnitShape& shape) {
  auto at = static_cast<unsigned>(out.values);
  const auto* raw = reinterpret_cast<const std::byte*>(work.raw);
  int b = 0;
  for (const int end : shape.end) {
    unsigned dc = 0;
    for (; b < end; ++b) {
      const unsigned size = work.dc_size[b];
      const unsigned all = (1u << size) - 1;
      const unsigned bits = load<std::uint32_t>(raw + at / 8) >> (at % 8) & all;
      at += size;
      dc += bits - (bits <= all >> 1 ? all : 0);  // zero if there are no bits
      out.dc[b] = static_cast<std::int16_t>(dc);
    }
  }
}

// Runs before the signs are applied: `value` holds magnitudes.
TUNDISH_INLINE void finish_escapes(UnitValues& out, const UnitWork& work) {
  for (int i = 0; i < out.escapes; ++i) {
    const int at = work.position[i];
    out.escape[i].position = static_cast<std::uint16_t>(at);
    const int rice = work.rice[at];
    const unsigned code = static_cast<std::uint8_t>(out.value[at] - 1);
    const unsigned rest = work.high[i] << rice | (code & ((1u << rice) - 1));
    const int magnitude = static_cast<int>(rest) + 1;
    const bool negative = work.raw[at / 64] >> (at % 64) & 1;
    out.escape[i].value = static_cast<std::int16_t>(negative ? -magnitude : magnitude);
  }
  out.escape[out.escapes].position = 65535;
}

// Decodes both units in step if their heads are valid, otherwise each alone.
template <typename One, typename Two>
TUNDISH_INLINE unsigned one_or_two(UnitValues* const* out, const CodedUnit* units, int count,
                                   const One& one, const Two& two) {
  UnitHead heads[2];
  unsigned good = 0;
  for (int u = 0; u < count; ++u) {
    if (read_unit_head(heads[u], units[u].bytes)) good |= 1u << u;
  }
  if (good == 3) return two(out, units, heads);
  for (int u = 0; u < count; ++u) {
    if (good >> u & 1 && one(out + u, units + u, heads + u) == 0) good &= ~(1u << u);
  }
  return good;
}

}  // namespace
}  // namespace tundish::lanes
