// A cache that only counts: tracks its contents, and whether each visit finds its sample cached.
#pragma once

#include <cstdint>
#include <memory>

#include "data/order/next_use.h"

namespace tundish {

struct Visit {
  RunPlace place;
  std::uint64_t sample = 0;
  std::uint64_t bytes = 0;
};

class Contestant {
 public:
  virtual ~Contestant() = default;
  virtual bool hit(const Visit& visit) = 0;
};

std::unique_ptr<Contestant> known_order(std::uint64_t capacity, const NextUse& next_use);
std::unique_ptr<Contestant> lru(std::uint64_t capacity);

}  // namespace tundish
