// An engine's budget, made from its options.
#pragma once

#include <cstdint>
#include <memory>

#include "loader/engine/engine.h"

namespace tundish {

// Batches in memory at once: those of the ring, and those at the GPU or in memory that was lent.
std::uint64_t most_batches(const LoaderOptions& options);

// Divides options.memory, reserves the batches when their size is known, and fills in
// recipe.memory. `count`: positions of an epoch. Throws Error(budget_too_small).
std::unique_ptr<MemoryBudget> make_budget(LoaderOptions& options, Recipe& recipe,
                                          std::uint64_t count, std::uint64_t more_per_image = 0);

// Whether the batch that a replay makes can be held, before any memory is taken: its size comes
// from a saved state, which may come from another machine. Throws Error(wrong_state).
void check_replay(const LoaderOptions& options, const Recipe& recipe, std::uint64_t count);

}  // namespace tundish
