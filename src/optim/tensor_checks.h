// Argument checks made before tensors are bound or a step runs, on a CPU and on a GPU. Also cuts
// tensors into chunks.
#pragma once

#include <span>
#include <vector>

#include "optim/group.h"
#include "optim/optimizer_kind.h"
#include "optim/tensor_entry.h"

namespace tundish::optim {

// Each throws Error (TND-601), naming the tensor by its index.
void check_kind(OptimizerKind kind);
void check_bound(std::span<const TensorEntry> tensors);
void check_gradient_count(std::size_t gradients, std::size_t tensors);
void check_step(std::span<const TensorEntry> tensors, OptimizerKind kind,
                std::span<const Group> groups);

// Cuts tensors into chunks, in order. A tensor without elements has none.
std::vector<Chunk> cut_into_chunks(std::span<const TensorEntry> tensors,
                                   std::uint32_t most = kChunk);

}  // namespace tundish::optim
