#include "loader/engine/ring.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <compare>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <thread>

namespace tundish {
namespace {

using namespace std::chrono_literals;

// Returns an opener of `count` batches 0, 1, ... with `places` samples each.
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

TEST_CASE("batches that are one task each are open for every worker, others as deep as asked for") {
  for (const bool single : {true, false}) {
    Ring ring(1, 0, 0, 2);
    ring.restart([single, next = std::uint64_t{0}](Slot& slot) mutable {
      slot.first = next++;
      slot.single_task = single;
      slot.places.resize(3);
      return true;
    });
    std::set<std::uint64_t> open;
    for (int i = 0; i < 3; ++i) open.insert(ring.claim()->slot->first);
    CHECK(open.size() == (single ? 3 : 1));
    ring.close();
  }
}

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

TEST_CASE("a released slot is used again") {
  Ring ring(1);
  ring.restart(batches(50, 1));
  for (int i = 0; i < 50; ++i) {
    ring.done(*ring.claim());
    take_number(ring);
  }
  CHECK(ring.stats().slots == 1);
}

TEST_CASE("a worker that is done holds no reference to the slot") {
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
  slot->views.resize(1);
  slot->views[0].pixels.reserve(100);
  CHECK(slot->views[0].pixels.bytes() >= 100);
}

// Reference model of a ring without threads: claims, finished tasks and takes, one at a time.
struct Model {
  struct Open {
    std::size_t claimed = 0, done = 0;
    auto operator<=>(const Open&) const = default;
  };
  std::size_t depth = 0, tasks = 0;  // slots; tasks per batch
  std::uint64_t batches = 0, taken = 0;
  std::vector<Open> open = {};           // oldest first
  std::vector<std::uint64_t> held = {};  // batch of each busy worker, sorted
  auto operator<=>(const Model&) const = default;

  bool can_open() const { return open.size() < depth && taken + open.size() < batches; }
  // Returns the batch of the next claim; empty if the claim would wait.
  std::optional<std::uint64_t> claimable() const {
    for (std::size_t i = 0; i < open.size(); ++i) {
      if (open[i].claimed < tasks) return taken + i;
    }
    return can_open() ? std::optional(taken + open.size()) : std::nullopt;
  }
  bool ready() const { return !open.empty() && open.front().done == tasks; }

  void claim() {
    const std::uint64_t batch = *claimable();
    if (batch == taken + open.size()) open.emplace_back();
    ++open[batch - taken].claimed;
    held.insert(std::upper_bound(held.begin(), held.end(), batch), batch);
  }
  void finish(std::size_t which) {
    ++open[held[which] - taken].done;
    held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
  }
  void take() {
    open.erase(open.begin());
    ++taken;
  }
};

constexpr int kClaim = -1, kTake = -2;  // other moves: index of the held task that is finished

std::vector<int> moves_of(const Model& model, std::size_t workers) {
  std::vector<int> out;
  if (model.held.size() < workers && model.claimable()) out.push_back(kClaim);
  if (model.ready()) out.push_back(kTake);
  for (std::size_t i = 0; i < model.held.size(); ++i) {
    if (i == 0 || model.held[i] != model.held[i - 1]) out.push_back(static_cast<int>(i));
  }
  return out;
}

// A ring and the tasks that its workers hold, in the model's order.
struct Play {
  explicit Play(const Model& model, std::size_t places, bool whole) : ring(model.depth) {
    ring.restart([=, next = std::uint64_t{0}](Slot& slot) mutable {
      if (next == model.batches) return false;
      slot.first = next++;
      slot.places.resize(places);
      slot.single_task = whole;
      return true;
    });
  }
  void hold(Ring::Task task) {
    const auto later = std::upper_bound(
        held.begin(), held.end(), task,
        [](const auto& a, const auto& b) { return a.slot->first < b.slot->first; });
    held.insert(later, std::move(task));
  }
  // Applies a move to the ring and the model, and compares their answers.
  void move(Model& model, int what) {
    if (what == kClaim) {
      const std::uint64_t expected = *model.claimable();
      Ring::Task task = *ring.claim();
      REQUIRE(task.slot->first == expected);
      hold(std::move(task));
      model.claim();
    } else if (what == kTake) {
      std::shared_ptr<Slot> slot;
      REQUIRE(ring.take(slot, 0ns) == Ring::Taken::batch);
      REQUIRE(slot->first == model.taken);
      model.take();
    } else {
      ring.done(std::move(held[static_cast<std::size_t>(what)]));
      held.erase(held.begin() + what);
      model.finish(static_cast<std::size_t>(what));
    }
  }
  Ring ring;
  std::vector<Ring::Task> held;
};

struct Explored {
  std::uint64_t states = 0, moves = 0, wakes = 0;
};

// Explores every reachable state and every move in it, each on a fresh ring brought to that state.
// With `wakes`, a trainer or a worker waits during a move that lets it continue.
void explore(Explored& seen, std::size_t depth, std::size_t workers, bool whole, bool wakes) {
  constexpr std::size_t kPlaces = 2;
  const Model begin{.depth = depth, .tasks = whole ? 1 : kPlaces, .batches = 6};
  std::map<Model, std::vector<int>> ways = {{begin, {}}};  // moves that lead to each state
  std::vector<Model> reached = {begin};
  while (!reached.empty()) {
    const Model model = reached.back();
    reached.pop_back();
    ++seen.states;
    const auto brought_there = [&] {
      auto play = std::make_unique<Play>(begin, kPlaces, whole);
      Model on_the_way = begin;
      for (const int what : ways[model]) play->move(on_the_way, what);
      return play;
    };
    const auto play = brought_there();
    std::shared_ptr<Slot> slot;
    if (!model.ready()) {
      const bool over = model.taken == model.batches;
      const Ring::Taken answer = play->ring.take(slot, 0ns);
      // The ring reports the end only after a worker asked for another batch.
      REQUIRE((answer == Ring::Taken::again || (over && answer == Ring::Taken::end)));
    }
    for (const int what : moves_of(model, workers)) {
      ++seen.moves;
      Model after = model;
      const auto fresh = brought_there();
      const auto wait_a_little = [] { std::this_thread::sleep_for(20us); };
      Model then = model;  // state after the move
      if (what == kTake) then.take();
      if (what >= 0) then.finish(static_cast<std::size_t>(what));
      std::jthread waiter;
      if (wakes && !model.ready() && then.ready()) {
        ++seen.wakes;
        waiter = std::jthread([&] {
          CHECK(fresh->ring.take(slot, 60s) == Ring::Taken::batch);
          CHECK(slot->first == model.taken);
        });
        wait_a_little();
      } else if (wakes && what == kTake && !model.claimable() && then.claimable() &&
                 model.held.size() < workers) {
        ++seen.wakes;
        waiter = std::jthread([&] {
          const auto task = fresh->ring.claim();
          CHECK((task && task->slot->first == *then.claimable()));
        });
        wait_a_little();
      }
      fresh->move(after, what);
      if (waiter.joinable()) waiter.join();
      if (ways.contains(after)) continue;
      std::vector<int> way = ways[model];
      way.push_back(what);
      ways.emplace(after, std::move(way));
      reached.push_back(after);
    }
  }
  const Model end{.depth = depth, .tasks = begin.tasks, .batches = 6, .taken = 6};
  CHECK(ways.contains(end));
}

TEST_CASE("every state of up to 3 slots, 3 workers and 6 batches does as the model does") {
  Explored seen;
  for (std::size_t depth = 1; depth <= 3; ++depth) {
    for (std::size_t workers = 1; workers <= 3; ++workers) {
      explore(seen, depth, workers, false, false);
      explore(seen, depth, workers, true, false);
    }
  }
  CHECK(seen.states > 500);
  CHECK(seen.moves > seen.states);
}

TEST_CASE("a waiting trainer or worker wakes after any change that allows it to run") {
  Explored seen;
  for (std::size_t depth = 1; depth <= 2; ++depth) {
    explore(seen, depth, 2, false, true);
    explore(seen, depth, 2, true, true);
  }
  CHECK(seen.wakes > 20);
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
