// Which instruction sets the fast paths may use.
#pragma once

#include <string_view>

namespace tundish {

enum class Cpu : int { scalar = 0, sse = 1, avx2 = 2, avx512 = 3 };

// The best this machine has: sse = SSE4.2, avx2 = AVX2, FMA, F16C, BMI, BMI2,
// LZCNT and POPCNT (Haswell, Zen and later),
// avx512 = F, BW, CD, DQ, VL, VBMI, VBMI2, VNNI, BITALG, VPOPCNTDQ (Ice Lake, Zen 4 and later).
Cpu best_cpu();

// best_cpu(), or what TUNDISH_CPU=scalar|sse|avx2|avx512 lowers it to; read once.
Cpu cpu();

const char* cpu_name(Cpu level);

}  // namespace tundish
