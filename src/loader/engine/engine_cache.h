// An engine's cache, made from its options.
#pragma once

#include <cstdint>
#include <memory>

#include "data/order/next_use.h"
#include "loader/engine/engine.h"
#include "loader/memory/sample_cache.h"

namespace tundish {

struct CacheSetup {
  std::unique_ptr<SampleCache> samples;
  std::unique_ptr<NextUse> next_use;
  std::uint64_t needed = 0;  // bytes of all samples that this rank meets; 0: not known
  std::uint64_t room = 0;    // bytes that are left for them
};

// Fills in recipe.cache; needs a budget. CacheKind::automatic: decoded when all samples fit so,
// otherwise encoded. Throws Error.
CacheSetup make_cache(const LoaderOptions& options, Recipe& recipe, const Order& order,
                      const Schedule& schedule);

}  // namespace tundish
