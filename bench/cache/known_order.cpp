// Tundish's rule, as used by Loader(cache=...).
#include "contestant.h"
#include "loader/memory/cache_policy.h"

namespace tundish {
namespace {

class KnownOrder : public Contestant {
 public:
  KnownOrder(std::uint64_t capacity, const NextUse& next_use)
      : capacity_(capacity), next_use_(next_use) {}

  bool hit(const Visit& visit) override {
    const auto [epoch, position, start] = visit.place;
    const std::uint64_t next = next_use_.from({epoch, position + 1, start}, visit.sample);
    if (policy_.holds(visit.sample)) {
      policy_.use(visit.sample, next);
      return true;
    }
    policy_.admit(visit.sample, visit.bytes, next, capacity_ - policy_.bytes(), gone_);
    return false;
  }

 private:
  const std::uint64_t capacity_;
  const NextUse& next_use_;
  CachePolicy policy_;
  std::vector<std::uint64_t> gone_;
};

}  // namespace

std::unique_ptr<Contestant> known_order(std::uint64_t capacity, const NextUse& next_use) {
  return std::make_unique<KnownOrder>(capacity, next_use);
}

}  // namespace tundish
