// Arithmetic that a CPU and a GPU do with the same source: functions marked so are compiled for
// both by nvcc, and are plain inline functions to every other compiler. They take and give
// integers, doubles and plain structs only.
#pragma once

#ifdef __CUDACC__
#define TUNDISH_HOST_DEVICE __host__ __device__ __forceinline__
#else
#define TUNDISH_HOST_DEVICE inline
#endif
