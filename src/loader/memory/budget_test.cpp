#include "loader/memory/budget.h"

#include <doctest/doctest.h>

#include <atomic>
#include <functional>
#include <map>
#include <thread>
#include <vector>

#include "base/random.h"

namespace tundish {
namespace {

using Answer = MemoryBudget::Answer;

TEST_CASE("what is given back can be taken again") {
  MemoryBudget budget(100);
  CHECK(budget.take(100, 0) == Answer::granted);
  budget.give(100);
  CHECK(budget.take(60, 0) == Answer::granted);
  CHECK(budget.take(40, 0) == Answer::granted);
  CHECK(budget.most_used() == 100);
}

TEST_CASE("a request that can never fit is refused at once") {
  MemoryBudget budget(100);
  CHECK(budget.take(101, 0) == Answer::too_large);
  CHECK(budget.reserve(60, 0) == Answer::granted);
  CHECK(budget.take(41, 0) == Answer::too_large);
  CHECK(budget.left_for_samples() == 40);
  CHECK(budget.reserve(101, 0) == Answer::too_large);
  CHECK(budget.reserved() == 60);
}

TEST_CASE("batches do not shrink") {
  MemoryBudget budget(100);
  CHECK(budget.reserve(60, 0) == Answer::granted);
  CHECK(budget.reserve(10, 0) == Answer::granted);
  CHECK(budget.reserved() == 60);
}

TEST_CASE("close wakes those who wait") {
  MemoryBudget budget(100);
  REQUIRE(budget.take(100, 0) == Answer::granted);
  std::atomic<int> closed{0};
  {
    std::vector<std::jthread> waiting;
    for (int i = 0; i < 3; ++i) {
      waiting.emplace_back([&] { closed += budget.take(1, 0) == Answer::closed; });
    }
    budget.close();
  }
  CHECK(closed == 3);
}

TEST_CASE("a waiter gets an error when larger batches leave no room for it") {
  MemoryBudget budget(100);
  REQUIRE(budget.take(50, 0) == Answer::granted);
  Answer answer = Answer::granted;
  {
    // too_large either while waiting for 80, or at once if 30 are already reserved.
    std::jthread waiter([&] { answer = budget.take(80, 1); });
    CHECK(budget.reserve(30, 0) == Answer::granted);
  }
  CHECK(answer == Answer::too_large);
}

TEST_CASE("the oldest waiter is served first, however much it wants") {
  for (int round = 0; round < 20; ++round) {
    MemoryBudget budget(100);
    REQUIRE(budget.take(100, 0) == Answer::granted);
    std::vector<int> served;  // ages, in the order served
    std::mutex mutex;
    std::atomic<int> started{0};
    std::vector<std::jthread> threads;
    for (const int age : {5, 2, 9}) {
      threads.emplace_back([&, age] {
        ++started;
        Charge charge;
        REQUIRE(charge.take(budget, 100, static_cast<std::uint64_t>(age)) == Answer::granted);
        std::lock_guard lock(mutex);
        served.push_back(age);
      });
    }
    while (started < 3 || budget.waiting() < 3) std::this_thread::yield();
    budget.give(100);
    threads.clear();
    CHECK(served == std::vector<int>{2, 5, 9});
  }
}

TEST_CASE("many threads never use more than the budget, and all are served") {
  constexpr std::uint64_t kBytes = 1000;
  MemoryBudget budget(kBytes);
  std::atomic<std::uint64_t> used{0}, most{0}, granted{0}, refused{0};
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t t = 0; t < 6; ++t) {
      threads.emplace_back([&, t] {
        Random random({.seed = t}, 1);
        for (std::uint64_t i = 0; i < 300; ++i) {
          if (i % 100 == 99) {
            budget.reserve(random.below(200), i);
            continue;
          }
          const std::uint64_t bytes = 1 + random.below(1100);
          Charge charge;
          const Answer answer = charge.take(budget, bytes, i);
          if (answer == Answer::too_large) {
            ++refused;
            continue;
          }
          REQUIRE(answer == Answer::granted);
          ++granted;
          const std::uint64_t now = used += bytes;
          for (std::uint64_t before = most; before < now;) {
            if (most.compare_exchange_weak(before, now)) break;
          }
          if (random.below(4) == 0) std::this_thread::yield();
          used -= bytes;
        }
      });
    }
  }
  CHECK(granted + refused == 6 * 297);
  CHECK(granted > 0);
  CHECK(refused > 0);
  CHECK(most <= kBytes);
  CHECK(budget.most_used() <= kBytes);
}

}  // namespace
}  // namespace tundish
