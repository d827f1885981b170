#include "batch/engine_memory.h"

#include <algorithm>

#include "batch/layout.h"
#include "batch/memory_plan.h"
#include "core/mapped_memory.h"

namespace tundish {

std::unique_ptr<MemoryBudget> make_budget(LoaderOptions& options, Recipe& recipe,
                                          std::uint64_t count, std::uint64_t more_per_image) {
  std::uint64_t tables = 0;
  if (options.cache != CacheKind::none) {
    const std::uint64_t samples = recipe.source->count();
    tables = cache_table_bytes(samples, options.memory);
    if (!options.order.samples.empty() || options.order.sampling != Sampling::every) {
      tables += 3 * sizeof(std::uint64_t) * samples;  // of NextUse
    }
  }
  const MemoryNeeds needs{
      .budget = options.memory,
      .source = recipe.source->memory() + tables,
      .threads = static_cast<std::uint64_t>(*options.threads) + 1,
      .batches = batches_at_once(options.prefetch) + options.lent_batches,
      .batch_size = std::min<std::uint64_t>(options.batch_size, count),
      .image_bytes =
          image_bytes(fixed_size(options.transforms), recipe.table.dtype) + more_per_image};
  const MemoryShares shares = share_memory(needs, recipe.source->path());
  auto budget = std::make_unique<MemoryBudget>(shares.shared);
  recipe.memory = {.budget = budget.get(),
                   .places = needs.batches * needs.batch_size,
                   .unnoticed = shares.per_thread / 2};
  budget->reserve(recipe.memory.places * needs.image_bytes, 0);
  if (options.allocator.take == kPlainMemory.take) options.allocator = kMappedMemory;
  keep_malloc_small();
  return budget;
}

}  // namespace tundish
