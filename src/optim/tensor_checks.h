// What is looked at before tensors are bound or a step is made, on a CPU and on a GPU; and how
// tensors are cut.
#pragma once

#include <span>
#include <vector>

#include "optim/group.h"
#include "optim/optimizer_kind.h"
#include "optim/tensor_entry.h"

namespace tundish::optim {

// All throw Error (TND-601) that names the tensor by its number.
void check_kind(OptimizerKind kind);
void check_bound(std::span<const TensorEntry> tensors);
void check_gradient_count(std::size_t gradients, std::size_t tensors);
void check_step(std::span<const TensorEntry> tensors, OptimizerKind kind,
                std::span<const Group> groups);

// The chunks of tensors, in order: what a step deals out. A tensor without elements has none.
std::vector<Chunk> cut_into_chunks(std::span<const TensorEntry> tensors,
                                   std::uint32_t most = kChunk);

}  // namespace tundish::optim
