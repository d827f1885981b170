// The instruction sets that the fast paths may use.
#pragma once

#include <string_view>

namespace tundish {

enum class Cpu : int { scalar = 0, sse = 1, avx2 = 2, avx512 = 3 };

// Returns the highest level of this machine: sse = SSE4.2, avx2 = AVX2, FMA, F16C, BMI, BMI2,
// LZCNT and POPCNT (Haswell, Zen and later),
// avx512 = F, BW, CD, DQ, VL, VBMI, VBMI2, VNNI, BITALG, VPOPCNTDQ (Ice Lake, Zen 4 and later).
Cpu best_cpu();

// Returns best_cpu(), or the lower level set by TUNDISH_CPU=scalar|sse|avx2|avx512; read once.
Cpu cpu();

const char* cpu_name(Cpu level);

}  // namespace tundish
