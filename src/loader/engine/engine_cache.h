// Creates an engine's cache from its options.
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
  std::uint64_t needed = 0;  // bytes of all samples that this rank reads; 0: unknown
  std::uint64_t room = 0;    // bytes available for these samples
};

// Sets recipe.cache; requires a budget. CacheKind::automatic: decoded if all samples fit decoded,
// encoded otherwise. Throws Error.
CacheSetup make_cache(const LoaderOptions& options, Recipe& recipe, const Order& order,
                      const Schedule& schedule);

}  // namespace tundish
