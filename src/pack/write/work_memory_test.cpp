#include "pack/write/work_memory.h"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "core/random.h"

namespace tundish {
namespace {

TEST_CASE("threads never work with more than the budget, and each gets its turn") {
  WorkMemory memory(100);
  std::atomic<int> taken{0}, most{0}, turns{0};
  std::vector<std::jthread> threads;
  for (std::uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Random random({.seed = t}, 0);
      for (int i = 0; i < 500; ++i) {
        const int bytes = static_cast<int>(random.below(60)) + 1;
        const WorkMemory::Room room(memory, static_cast<std::uint64_t>(bytes));
        const int now = taken += bytes;
        for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
        }
        ++turns;
        taken -= bytes;
      }
    });
  }
  threads.clear();
  CHECK(turns == 2000);
  CHECK(most <= 100);
  CHECK(most > 0);
}

TEST_CASE("what is larger than the budget has room when it is alone") {
  WorkMemory memory(100);
  std::atomic<int> inside{0}, together{0};
  std::vector<std::jthread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        const WorkMemory::Room room(memory, 1000);
        together += ++inside > 1;
        --inside;
      }
    });
  }
  threads.clear();
  CHECK(together == 0);
}

}  // namespace
}  // namespace tundish
