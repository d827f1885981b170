#include "batch/ring.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <random>
#include <set>
#include <thread>

namespace tundish {
namespace {

using namespace std::chrono_literals;

// Batches 0, 1, ... of `places` samples, `count` of them.
Ring::Opener batches(std::uint64_t count, std::size_t places) {
  return [=, next = std::uint64_t{0}](Slot& slot) mutable {
    if (next == count) return false;
    slot.first = next++;
    slot.places.resize(places);
    return true;
  };
}

std::uint64_t take_number(Ring& ring) {
  std::shared_ptr<Slot> slot;
  REQUIRE(ring.take(slot, 1s) == Ring::Taken::batch);
  return slot->first;
}

}  // namespace

TEST_CASE("batches leave in order although they finished out of order") {
  Ring ring(2);
  ring.restart(batches(2, 1));
  const auto first = *ring.claim(), second = *ring.claim();
  std::shared_ptr<Slot> slot;
  ring.done(second);
  CHECK(ring.take(slot, 0ns) == Ring::Taken::again);
  ring.done(first);
  CHECK(take_number(ring) == 0);
  CHECK(take_number(ring) == 1);
}

TEST_CASE("samples of the oldest batch are given out first") {
  Ring ring(3);
  ring.restart(batches(3, 2));
  std::vector<std::uint64_t> order;
  for (int i = 0; i < 6; ++i) order.push_back(ring.claim()->slot->first);
  CHECK(order == std::vector<std::uint64_t>{0, 0, 1, 1, 2, 2});
}

TEST_CASE("a batch is not ready before its last sample is") {
  Ring ring(1);
  ring.restart(batches(1, 2));
  const auto a = *ring.claim(), b = *ring.claim();
  std::shared_ptr<Slot> slot;
  ring.done(b);
  CHECK(ring.take(slot, 0ns) == Ring::Taken::again);
  ring.done(a);
  CHECK(ring.take(slot, 0ns) == Ring::Taken::batch);
}

TEST_CASE("an empty batch is delivered in its turn") {
  Ring ring(2);
  ring.restart(batches(3, 0));
  std::jthread worker([&] { CHECK_FALSE(ring.claim().has_value()); });
  CHECK(take_number(ring) == 0);
  CHECK(take_number(ring) == 1);
  CHECK(take_number(ring) == 2);
  std::shared_ptr<Slot> slot;
  CHECK(ring.take(slot, 1s) == Ring::Taken::end);
  ring.close();
}

TEST_CASE("close wakes a waiting trainer and waiting workers") {
  Ring ring(1);
  ring.restart(batches(9, 1));
  const auto held = ring.claim();
  std::jthread worker([&] { CHECK_FALSE(ring.claim().has_value()); });
  std::jthread closer([&] { ring.close(); });
  std::shared_ptr<Slot> slot;
  CHECK(ring.take(slot, 10s) == Ring::Taken::end);
}

TEST_CASE("after a restart nothing of the old batches is delivered") {
  Ring ring(2);
  ring.restart(batches(5, 1));
  const auto old = *ring.claim();
  ring.restart([n = 100](Slot& slot) mutable {
    slot.first = static_cast<std::uint64_t>(n++);
    slot.places.resize(1);
    return true;
  });
  const auto fresh = *ring.claim();
  ring.done(old);
  ring.done(fresh);
  CHECK(take_number(ring) == 100);
}

TEST_CASE("a batch that the trainer keeps keeps its memory, and the ring takes another slot") {
  Ring ring(1);
  ring.restart(batches(10, 1));
  std::vector<std::shared_ptr<Slot>> kept;
  for (int i = 0; i < 5; ++i) {
    ring.done(*ring.claim());
    kept.emplace_back();
    REQUIRE(ring.take(kept.back(), 1s) == Ring::Taken::batch);
  }
  std::set<Slot*> distinct;
  for (const auto& slot : kept) distinct.insert(slot.get());
  CHECK(distinct.size() == 5);
  CHECK(ring.stats().slots == 5);
}

TEST_CASE("a slot that comes back is used again") {
  Ring ring(1);
  ring.restart(batches(50, 1));
  for (int i = 0; i < 50; ++i) {
    ring.done(*ring.claim());
    take_number(ring);
  }
  CHECK(ring.stats().slots == 1);
}

TEST_CASE("a worker that is done has no share in the slot any more") {
  Ring ring(1);
  ring.restart(batches(2, 2));
  auto first = ring.claim(), second = ring.claim();
  ring.done(std::move(*first));
  ring.done(std::move(*second));
  std::shared_ptr<Slot> slot;
  REQUIRE(ring.take(slot, 1s) == Ring::Taken::batch);
  CHECK(slot.use_count() == 1);
}

TEST_CASE("a slot may outlive its ring") {
  std::shared_ptr<Slot> slot;
  {
    Ring ring(1);
    ring.restart(batches(1, 1));
    ring.done(*ring.claim());
    REQUIRE(ring.take(slot, 1s) == Ring::Taken::batch);
  }
  slot->pixels.reserve(100);
  CHECK(slot->pixels.bytes() >= 100);
}

// Every order in which up to 3 workers can claim and finish the samples of 6 small batches over
// 1 to 3 slots, the trainer taking as soon as it can or as late as it can: explored exhaustively
// by depth-first search over the choices, each path on a fresh ring.
TEST_CASE("every interleaving delivers all batches once and in order") {
  constexpr std::uint64_t kBatches = 6;
  std::uint64_t paths = 0;
  for (std::size_t depth = 1; depth <= 3; ++depth) {
    for (std::size_t workers = 1; workers <= 3; ++workers) {
      std::vector<std::size_t> choices;  // the path: which of the possible moves at each step
      for (;;) {
        Ring ring(depth);
        ring.restart(batches(kBatches, 1));
        std::vector<std::optional<Ring::Task>> held(workers);
        std::uint64_t taken = 0, opened = 0;
        std::vector<std::size_t> widths;
        for (std::size_t step = 0; taken < kBatches; ++step) {
          // Moves: worker w claims (when something can be claimed), worker w finishes, trainer
          // takes.
          std::vector<int> moves;
          const bool can_claim = opened < kBatches && opened - taken < depth;
          bool idle_listed = false;  // idle workers are alike: one of them is enough
          for (std::size_t w = 0; w < workers; ++w) {
            if (held[w]) {
              moves.push_back(static_cast<int>(w));
            } else if (can_claim && !idle_listed) {
              moves.push_back(static_cast<int>(w));
              idle_listed = true;
            }
          }
          bool front_done = opened > taken;
          for (const auto& task : held)
            front_done = front_done && !(task && task->slot->first == taken);
          if (front_done) moves.push_back(-1);
          REQUIRE(!moves.empty());
          if (step == choices.size()) choices.push_back(0);
          widths.push_back(moves.size());
          const int move = moves[choices[step]];
          std::shared_ptr<Slot> slot;
          if (move < 0) {
            REQUIRE(ring.take(slot, 0ns) == Ring::Taken::batch);
            REQUIRE(slot->first == taken);
            ++taken;
          } else if (held[static_cast<std::size_t>(move)]) {
            ring.done(*held[static_cast<std::size_t>(move)]);
            held[static_cast<std::size_t>(move)].reset();
          } else {
            held[static_cast<std::size_t>(move)] = ring.claim();
            REQUIRE(held[static_cast<std::size_t>(move)]->slot->first == opened);
            ++opened;
          }
        }
        ++paths;
        while (!choices.empty() && choices.back() + 1 == widths[choices.size() - 1])
          choices.pop_back();
        if (choices.empty()) break;
        ++choices.back();
      }
    }
  }
  CHECK(paths > 1000);
}

TEST_CASE("many workers and random yields: every sample is filled once, batches in order") {
  constexpr std::uint64_t kBatches = 300;
  constexpr std::size_t kPlaces = 7;
  Ring ring(3);
  ring.restart(batches(kBatches, kPlaces));
  std::atomic<int> filled{0};
  std::vector<std::jthread> workers;
  for (unsigned w = 0; w < 4; ++w) {
    workers.emplace_back([&, w] {
      std::minstd_rand random(w + 1);
      while (auto task = ring.claim()) {
        if (random() % 4 == 0) std::this_thread::yield();
        Place& place = task->slot->places[task->place];
        place.label = static_cast<std::int64_t>(task->slot->first * kPlaces + task->place);
        ++filled;
        ring.done(std::move(*task));
      }
    });
  }
  for (std::uint64_t number = 0; number < kBatches; ++number) {
    std::shared_ptr<Slot> slot;
    REQUIRE(ring.take(slot, 10s) == Ring::Taken::batch);
    REQUIRE(slot->first == number);
    for (std::size_t i = 0; i < kPlaces; ++i) {
      REQUIRE(slot->places[i].label == static_cast<std::int64_t>(number * kPlaces + i));
    }
  }
  CHECK(filled == static_cast<int>(kBatches * kPlaces));
  ring.close();
}

}  // namespace tundish
