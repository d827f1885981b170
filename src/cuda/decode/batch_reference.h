// Reference implementation of the kernels: executes the flat buffer of a batch on the CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "augment/pixel_table.h"
#include "codec/lanes/tables.h"
#include "cuda/decode/batch_layout.h"

namespace tundish::cuda {

// Fills the coded part of a flat buffer from the pieces in `records`.
void gather_reference(std::byte* batch, const BatchLayout& layout, const std::byte* records);

// Writes the batch's elements to `out`. Returns one word per image: kNoError, or the error_word()
// of the first refused unit. `batch` is the output of BatchPlan::gather().
std::vector<std::uint32_t> run_batch_reference(std::byte* out, const std::byte* batch,
                                               const BatchLayout& layout,
                                               const lanes::Tables& tables,
                                               const PixelTable& table);

}  // namespace tundish::cuda
