#include <doctest/doctest.h>

#include <atomic>
#include <random>
#include <thread>

#include "base/testing.h"
#include "loader/engine/ring.h"

namespace tundish {
namespace {

using namespace std::chrono_literals;

Ring::Opener batches_of(std::size_t places, std::uint64_t count) {
  return [places, count, next = std::uint64_t{0}](Slot& slot) mutable {
    if (next == count) return false;
    slot.places.resize(places);
    slot.next = ++next;
    return true;
  };
}

// Workers that count their tasks.
class Workers {
 public:
  Workers(Ring& ring, std::size_t count) : did_(count) {
    for (std::size_t number = 0; number < count; ++number) {
      threads_.emplace_back([this, &ring, number] {
        while (auto task = ring.claim(number)) {
          task->slot->places[task->place].label = static_cast<std::int64_t>(task->place);
          ++did_[number];
          ring.done(std::move(*task));
        }
      });
    }
  }
  void join() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  int did(std::size_t number) const { return did_[number]; }

 private:
  std::vector<std::atomic<int>> did_;
  std::vector<std::thread> threads_;
};

}  // namespace

TEST_CASE("ring: a worker that is not active receives nothing until it is") {
  Ring ring(2);
  ring.set_active(2);
  ring.restart(batches_of(3, 50));
  Workers workers(ring, 5);
  std::shared_ptr<Slot> slot;
  for (int i = 0; i < 20; ++i) REQUIRE(ring.take(slot, 20s) == Ring::Taken::batch);
  for (const std::size_t number : {2u, 3u, 4u}) CHECK(workers.did(number) == 0);
  CHECK(workers.did(0) + workers.did(1) >= 60);
  ring.close();
  workers.join();  // includes workers that were never active
}

TEST_CASE("ring: batches come in order and whole while workers and open batches change") {
  std::mt19937_64 random(test_seed());
  Ring ring(4);
  ring.restart(batches_of(5, 2000));
  Workers workers(ring, 8);
  std::atomic<bool> over = false;
  std::thread changes([&, seed = random()] {
    std::mt19937_64 counts(seed);
    while (!over) {
      ring.set_active(counts() % 9);  // 0 counts as 1
      ring.set_depth(counts() % 6);
      std::this_thread::yield();
    }
  });
  std::shared_ptr<Slot> slot;
  std::uint64_t taken = 0;
  while (ring.take(slot, 20s) == Ring::Taken::batch) {
    CHECK(slot->next == ++taken);
    for (std::size_t i = 0; i < slot->places.size(); ++i) {
      CHECK(slot->places[i].label == static_cast<std::int64_t>(i));
    }
  }
  CHECK(taken == 2000);
  over = true;
  changes.join();
  ring.close();
  workers.join();
}

}  // namespace tundish
