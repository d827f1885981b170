#include "data/pack/write/ordered_queue.h"

#include <doctest/doctest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/random.h"
#include "data/pack/write/work_memory.h"

namespace tundish {
namespace {

constexpr auto kTimeout = std::chrono::milliseconds(50);

std::uint64_t size_of(std::uint64_t place) { return Random({.sample = place}, 0).below(100); }

}  // namespace

TEST_CASE("samples leave in order and what is in flight stays within the budget") {
  constexpr std::uint64_t kCount = 3000, kBudget = 150;
  OrderedQueue queue(kBudget);
  queue.finish(kCount);
  std::atomic<std::uint64_t> held = 0, most = 0;
  const auto prepare = [&] {
    while (const auto place = queue.claim(kCount, size_of)) {
      const std::uint64_t now = held += size_of(*place);
      for (std::uint64_t seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
      }
      if (*place % 7 == 0) std::this_thread::yield();
      queue.deliver(*place, size_of(*place), {.number = *place, .bytes = size_of(*place)});
    }
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 5; ++t) threads.emplace_back(prepare);
  std::uint64_t next = 0;
  while (!queue.done()) {
    const std::optional<Prepared> prepared = queue.take(kTimeout);
    if (!prepared) continue;
    REQUIRE(prepared->number == next++);
    held -= prepared->bytes;
    queue.release(prepared->bytes);
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(next == kCount);
  CHECK(most <= kBudget);
}

TEST_CASE("a sample larger than the budget passes alone") {
  OrderedQueue queue(10);
  const auto large = [](std::uint64_t) { return std::uint64_t{1000}; };
  REQUIRE(queue.claim(2, large) == 0);
  std::thread second([&] {
    CHECK(queue.claim(2, large) == 1);
    queue.deliver(1, 1000, {.number = 1, .bytes = 1000});
  });
  queue.deliver(0, 1000, {.number = 0, .bytes = 1000});
  queue.finish(2);
  REQUIRE(queue.take(kTimeout)->number == 0);
  queue.release(1000);
  second.join();
  CHECK(queue.take(kTimeout)->number == 1);
  CHECK(queue.done());
}

TEST_CASE("a failure reaches the writer and stops the other threads") {
  OrderedQueue queue(10);
  const auto large = [](std::uint64_t) { return std::uint64_t{1000}; };
  REQUIRE(queue.claim(9, large) == 0);
  std::thread waiting([&] { CHECK_FALSE(queue.claim(9, large)); });
  queue.fail(std::make_exception_ptr(std::runtime_error("broken")));
  waiting.join();
  CHECK_THROWS_WITH(queue.take(kTimeout), "broken");
}

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

}  // namespace tundish
