#include "base/machine/cpu.h"

#include <cstdlib>
#include <string_view>

namespace tundish {

Cpu best_cpu() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512cd") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi") &&
      __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512vnni") &&
      __builtin_cpu_supports("avx512bitalg") && __builtin_cpu_supports("avx512vpopcntdq")) {
    return Cpu::avx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
      __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("lzcnt") &&
      __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("f16c")) {
    return Cpu::avx2;
  }
  if (__builtin_cpu_supports("sse4.2")) return Cpu::sse;
  return Cpu::scalar;
}

Cpu cpu() {
  static const Cpu chosen = [] {
    const Cpu best = best_cpu();
    const char* wish = std::getenv("TUNDISH_CPU");
    if (!wish) return best;
    for (const Cpu level : {Cpu::scalar, Cpu::sse, Cpu::avx2}) {
      if (std::string_view(wish) == cpu_name(level) && level < best) return level;
    }
    return best;
  }();
  return chosen;
}

const char* cpu_name(Cpu level) {
  switch (level) {
    case Cpu::scalar:
      return "scalar";
    case Cpu::sse:
      return "sse";
    case Cpu::avx2:
      return "avx2";
    case Cpu::avx512:
      return "avx512";
  }
  return "?";
}

}  // namespace tundish
