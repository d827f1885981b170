// The bitwise formulas on registers of kBytes. Included by one file per instruction set.
#pragma once

#include "augment/pixels/levels/level_formula.h"

namespace tundish {
namespace {

template <int kBytes>
struct FormulaLanes {
  typedef std::uint8_t Bytes __attribute__((vector_size(kBytes)));

  // Returns the number of levels processed; the remaining levels do not fill a register.
  template <class Change>
  static inline __attribute__((always_inline)) std::size_t each(std::uint8_t* levels,
                                                                std::size_t count,
                                                                const Change& change) {
    std::size_t i = 0;
    for (; i + kBytes <= count; i += kBytes) {
      Bytes bytes;
      __builtin_memcpy(&bytes, levels + i, sizeof bytes);
      bytes = change(bytes);
      __builtin_memcpy(levels + i, &bytes, sizeof bytes);
    }
    return i;
  }

  static std::size_t bits(std::uint8_t* levels, std::size_t count, const LevelFormula& formula) {
    const Bytes flipped = Bytes{} + formula.flipped, kept = Bytes{} + formula.kept;
    return each(levels, count, [=](Bytes bytes) { return (bytes ^ flipped) & kept; });
  }
  static std::size_t part(std::uint8_t* levels, std::size_t count, const LevelFormula& formula) {
    const Bytes flipped = Bytes{} + formula.flipped, first = Bytes{} + formula.first;
    return each(levels, count, [=](Bytes bytes) {
      const Bytes from_first = (Bytes)(bytes >= first);
      return bytes ^ (from_first & flipped);
    });
  }
};

}  // namespace
}  // namespace tundish
