#include "lanes/decode_unit.h"

namespace tundish::lanes {

unsigned decode_units_plainly(UnitValues* const* out, const CodedUnit* units, int count,
                              const Tables& tables, UnitWork*) {
  unsigned good = 0;
  for (int u = 0; u < count; ++u) {
    if (decode_unit_slowly(*out[u], units[u], tables)) good |= 1u << u;
  }
  return good;
}

DecodeUnits decode_units_of(Cpu cpu) {
  switch (cpu) {
    case Cpu::avx512:
      return decode_units_avx512;
    case Cpu::avx2:
      return decode_units_avx2;
    default:
      return decode_units_plainly;
  }
}

}  // namespace tundish::lanes
