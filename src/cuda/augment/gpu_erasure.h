// An Erasure in the kernels' form: its values are the bits of the batch's element type.
#pragma once

#include <cstdint>

#include "augment/dtype.h"
#include "augment/erasure.h"

namespace tundish::cuda {

struct GpuErasure {
  Window window;
  std::uint32_t bits[3] = {};  // per channel, unless random
  std::uint64_t key = 0;
  bool random = false;
};

inline GpuErasure gpu_erasure(const Erasure& erasure, Dtype dtype) {
  GpuErasure out{.window = erasure.window, .key = erasure.key, .random = erasure.random};
  for (std::size_t c = 0; c < 3; ++c) out.bits[c] = element_bits(erasure.value[c], dtype);
  return out;
}

}  // namespace tundish::cuda
