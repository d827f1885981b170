// Creates an engine's budget from its options.
#pragma once

#include <cstdint>
#include <memory>

#include "loader/engine/engine.h"

namespace tundish {

// Maximum number of batches in memory: in the ring, at the GPU, or in lent memory.
std::uint64_t most_batches(const LoaderOptions& options);

// Divides options.memory, reserves the batches if their size is known, and sets
// recipe.memory. `count`: positions of an epoch. Throws Error(budget_too_small).
std::unique_ptr<MemoryBudget> make_budget(LoaderOptions& options, Recipe& recipe,
                                          std::uint64_t count, std::uint64_t more_per_image = 0);

// Checks that the batch of a replay fits in memory, before any memory is taken. Its size comes
// from a saved state, possibly of another machine. Throws Error(wrong_state).
void check_replay(const LoaderOptions& options, const Recipe& recipe, std::uint64_t count);

}  // namespace tundish
