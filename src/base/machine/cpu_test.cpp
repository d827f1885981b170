#include "base/machine/cpu.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <string>

namespace tundish {

// tests/pixels/test_values.py runs this once per value of TUNDISH_CPU.
TEST_CASE("the instruction set is the best, or what TUNDISH_CPU lowers it to") {
  const char* wish = std::getenv("TUNDISH_CPU");
  Cpu expected = best_cpu();
  for (const Cpu level : {Cpu::scalar, Cpu::sse, Cpu::avx2, Cpu::avx512}) {
    if (wish && wish == std::string(cpu_name(level))) expected = std::min(expected, level);
  }
  CHECK(cpu() == expected);
}

}  // namespace tundish
