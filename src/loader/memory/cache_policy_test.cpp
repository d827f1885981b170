#include "loader/memory/cache_policy.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "base/random.h"
#include "data/order/next_use.h"

namespace tundish {
namespace {

using Numbers = std::vector<std::uint64_t>;

TEST_CASE("a sample never takes the place of one that is needed sooner") {
  CachePolicy policy;
  Numbers gone;
  CHECK(policy.admit(1, 1, 10, 3, gone));
  CHECK(policy.admit(2, 1, 20, 2, gone));
  CHECK(policy.admit(3, 1, 30, 1, gone));
  CHECK_FALSE(policy.admit(4, 1, 40, 0, gone));
  CHECK_FALSE(policy.admit(4, 1, 30, 0, gone));
  CHECK(policy.admit(4, 1, 15, 0, gone));
  CHECK(gone == Numbers{3});
  CHECK_FALSE(policy.admit(5, 2, 17, 0, gone));  // one of the two is needed sooner: both stay
  CHECK(policy.admit(5, 2, 12, 0, gone));
  CHECK(gone == Numbers{2, 4});
  CHECK(policy.bytes() == 3);
  CHECK_FALSE(policy.admit(6, 9, 1, 0, gone));  // larger than the whole cache
  policy.shrink_to(1, gone);
  CHECK(gone == Numbers{5});
}

// Reference implementation: a list of held samples, and the whole future.
class Twin {
 public:
  explicit Twin(std::uint64_t room) : room_(room) {}

  // Visits future[now] at time `now`; `sizes` is by sample. Returns true for a hit.
  bool visit(const Numbers& future, std::size_t now, const Numbers& sizes) {
    const std::uint64_t sample = future[now];
    if (std::find(held_.begin(), held_.end(), sample) != held_.end()) return true;
    const auto next = [&](std::uint64_t one) {
      return std::find(future.begin() + static_cast<std::ptrdiff_t>(now) + 1, future.end(), one) -
             future.begin();
    };
    Numbers kept = held_;
    const auto bytes = [&] {
      std::uint64_t sum = sizes[sample];
      for (const std::uint64_t one : kept) sum += sizes[one];
      return sum;
    };
    while (bytes() > room_) {
      if (kept.empty()) return false;
      const auto last = std::max_element(kept.begin(), kept.end(),
                                         [&](auto a, auto b) { return next(a) < next(b); });
      if (next(*last) <= next(sample)) return false;
      kept.erase(last);
    }
    kept.push_back(sample);
    held_ = kept;
    return false;
  }

  Numbers held() const {
    Numbers out = held_;
    std::sort(out.begin(), out.end());
    return out;
  }

 private:
  std::uint64_t room_;
  Numbers held_;
};

TEST_CASE("the policy holds what its slow twin holds, on random orders and sizes") {
  std::uint64_t hits = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    Random random({.seed = seed}, 2);
    const std::uint64_t count = 3 + random.below(20), visits = 6 * count;
    const Order order{.count = count, .seed = seed, .shuffle = true};
    const NextUse next_use(order, {.count = count, .uneven = Uneven::exact});
    Numbers sizes, future;
    for (std::uint64_t i = 0; i < count; ++i) sizes.push_back(1 + random.below(4));
    // Adds epochs beyond the visited ones, so that every sample has a next visit.
    for (std::uint64_t t = 0; t < visits + 2 * count; ++t) {
      future.push_back(draw_at(order, t / count, t % count).sample);
    }
    const std::uint64_t room = 1 + random.below(2 * count);
    Twin twin(room);
    CachePolicy policy;
    Numbers gone, held;
    for (std::uint64_t t = 0; t < visits; ++t) {
      const std::uint64_t sample = future[t], epoch = t / count, at = t % count;
      const std::uint64_t next = next_use.from({epoch, at + 1, 0}, sample);
      const bool hit = policy.holds(sample);
      REQUIRE(twin.visit(future, t, sizes) == hit);
      hits += hit;
      if (hit) {
        policy.use(sample, next);
      } else if (policy.admit(sample, sizes[sample], next, room - policy.bytes(), gone)) {
        held.push_back(sample);
        std::erase_if(
            held, [&](auto one) { return std::find(gone.begin(), gone.end(), one) != gone.end(); });
      }
      REQUIRE(policy.bytes() <= room);
      std::sort(held.begin(), held.end());
      REQUIRE(held == twin.held());
    }
  }
  CHECK(hits > 1000);
}

TEST_CASE("after a jump in the order each sample is announced again when it is drawn") {
  CachePolicy policy;
  Numbers gone;
  CHECK(policy.admit(1, 1, 10, 2, gone));
  CHECK(policy.admit(2, 1, 20, 1, gone));
  policy.retime([](std::uint64_t sample) { return 100 / sample; });
  policy.shrink_to(1, gone);
  CHECK(gone == Numbers{1});
}

}  // namespace
}  // namespace tundish
