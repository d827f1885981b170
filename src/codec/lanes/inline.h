// For the short functions of the fast paths: registers go in and out of them by pointer and by
// value, and stay registers only when the function is inlined.
#pragma once

#define TUNDISH_INLINE inline __attribute__((always_inline))
