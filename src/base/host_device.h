// Arithmetic that a CPU and a GPU do with the same source: functions marked so are compiled for
// both by nvcc, and are inlined by every other compiler, so that a file for one instruction set
// leaves no copy that others would call. They take and give integers, doubles and plain structs
// only.
#pragma once

// TUNDISH_OUT_OF_LINE: one copy of a function that is rarely called. TUNDISH_UNROLL(n), in front of
// a loop: n copies of its body on a GPU; 1 keeps the code small.
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
