// Copies rows of units from the records resident on the GPU to the coded part of a batch. Reference
// implementation: gather_reference().
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "cuda/decode/batch_layout.h"

namespace tundish::cuda {

// `batch` is the flat buffer on the GPU, without its coded part; `records` are the resident
// records.
void gather_on_gpu(std::byte* batch, const BatchLayout& layout, const std::byte* records,
                   cudaStream_t stream);

}  // namespace tundish::cuda
