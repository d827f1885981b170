#include "codec/lanes/decode_unit.h"

#include "codec/lanes/encode.h"

namespace tundish::lanes {

bool read_unit_head(UnitHead& out, Bytes bytes) {
  if (bytes.size() < kNarrowHeadBytes || bytes.size() % 2 != 0) return false;
  const unsigned words = load<std::uint16_t>(bytes.data());
  out.narrow = words == kNarrow;
  out.end = bytes.data() + bytes.size();
  const std::byte* at = bytes.data() + 2;
  if (out.narrow) {
    for (std::uint32_t& state : out.state) {
      state = load<std::uint16_t>(at);
      at += 2;
    }
    out.words = out.words_end = at;
    return true;
  }
  if (words > kNarrow || kUnitHeadBytes + 2 * std::size_t{words} > bytes.size()) return false;
  bool in_range = true;
  for (std::uint32_t& state : out.state) {
    state = load<std::uint32_t>(at);
    in_range &= state >= kLowState && state >> kHighStateBits == 0;
    at += 4;
  }
  out.words = at;
  out.words_end = at + 2 * std::size_t{words};
  return in_range;
}

unsigned decode_units_reference(UnitValues* const* out, const CodedUnit* units, int count,
                                const Tables& tables, UnitWork*) {
  unsigned good = 0;
  for (int u = 0; u < count; ++u) {
    if (decode_unit_reference(*out[u], units[u], tables)) good |= 1u << u;
  }
  return good;
}

DecodeUnits decode_units_of(Cpu cpu) {
  switch (cpu) {
    case Cpu::avx512:
      return decode_units_avx512;
    case Cpu::avx2:
      return decode_units_avx2;
    case Cpu::sse:
      return decode_units_baseline;
    case Cpu::scalar:
      break;
  }
  return decode_units_reference;
}

}  // namespace tundish::lanes
