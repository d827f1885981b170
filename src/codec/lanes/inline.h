// Marks short functions of the fast paths. Registers are passed by pointer and by value, and stay
// in registers only if the function is inlined.
#pragma once

#define TUNDISH_INLINE inline __attribute__((always_inline))
