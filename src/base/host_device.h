// Marks for arithmetic that CPU and GPU share as source. nvcc compiles a marked function for both
// processors. Other compilers inline the function, so that a file for one instruction set leaves no
// out-of-line copy that other files would call. Such functions take and return only integers,
// doubles and plain structs.
#pragma once

// TUNDISH_OUT_OF_LINE: one copy of a rarely called function. TUNDISH_UNROLL(n), before a loop:
// unrolls the body n times on a GPU; 1 keeps the code small.
#ifdef __CUDACC__
#define TUNDISH_HOST_DEVICE __host__ __device__ __forceinline__
#define TUNDISH_OUT_OF_LINE __host__ __device__ __noinline__ inline
#define TUNDISH_PRAGMA(text) _Pragma(#text)
#define TUNDISH_UNROLL(n) TUNDISH_PRAGMA(unroll n)
#else
#define TUNDISH_HOST_DEVICE inline __attribute__((always_inline))
#define TUNDISH_OUT_OF_LINE inline
#define TUNDISH_UNROLL(n)
#endif

// Marks short functions of the CPU's fast paths. Registers are passed by pointer and by value, and
// stay in registers only if the function is inlined.
#define TUNDISH_INLINE inline __attribute__((always_inline))
