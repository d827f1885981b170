#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "base/testing.h"
#include "loader/engine/testing.h"

namespace tundish {
namespace {

// Runs an epoch from a position on and changes the numbers of threads and open batches after every
// batch. Stops after `most` batches; `position` is then the position of the run.
std::vector<Seen> run_with_changes(Engine& engine, std::uint64_t epoch, std::mt19937_64& random,
                                   std::uint64_t& position, std::size_t most = 1000) {
  engine.start(epoch, position);
  std::vector<Seen> all;
  while (all.size() < most) {
    engine.set_threads(1 + random() % 9);
    engine.set_prefetch(1 + random() % 6);
    Batch batch;
    const Engine::Next next = engine.next(batch, 20s);
    if (next == Engine::Next::end) return all;
    REQUIRE(next == Engine::Next::batch);
    const BatchView& view = batch.views.front();
    const std::size_t bytes =
        batch.count * 3 * static_cast<std::size_t>(view.size.width * view.size.height);
    all.push_back({batch.epoch, batch.samples, {view.pixels, view.pixels + bytes}});
    position = batch.next;
  }
  return all;
}

}  // namespace

TEST_CASE("batches are bit-identical while the number of threads changes") {
  const auto source = std::make_shared<LevelSource>(101, 16);
  source->bad = {3, 50};
  std::mt19937_64 random(test_seed());
  Engine fixed(source, options(1, 7)), changing(source, options(3, 7));
  for (const std::uint64_t epoch : {0u, 1u, 2u}) {
    std::uint64_t position = 0;
    CHECK(run_with_changes(changing, epoch, random, position) == run_epoch(fixed, epoch));
  }
}

TEST_CASE("a run that is resumed while the number of threads changes gives the same batches") {
  const auto source = std::make_shared<LevelSource>(101, 16);
  source->bad = {3, 50};
  std::mt19937_64 random(test_seed());
  Engine fixed(source, options(1, 7));
  const std::vector<Seen> expected = run_epoch(fixed, 1);
  for (int repeat = 0; repeat < 5; ++repeat) {
    std::uint64_t position = 0;
    std::vector<Seen> all;
    while (all.size() < expected.size()) {  // each piece uses a new engine
      Engine engine(source, options(1 + static_cast<int>(random() % 4), 7));
      const std::vector<Seen> piece =
          run_with_changes(engine, 1, random, position, 1 + random() % expected.size());
      REQUIRE(!piece.empty());
      all.insert(all.end(), piece.begin(), piece.end());
    }
    CHECK(all == expected);
  }
}

TEST_CASE("open batches: as many are made ahead of the trainer as are asked for") {
  const auto source = std::make_shared<LevelSource>(400);
  LoaderOptions given = options(2, 4);
  given.prefetch = 2;
  Engine engine(source, given);
  engine.start(0, 0);
  const auto ready_become = [&](std::uint64_t wanted) {
    const auto until = std::chrono::steady_clock::now() + 20s;
    while (engine.ready() < wanted && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(1ms);
    }
    return engine.ready();
  };
  CHECK(ready_become(2) == 2);
  engine.set_prefetch(5);
  CHECK(ready_become(5) == 5);
  CHECK(engine.stats().prefetch == 5);
  engine.set_prefetch(1);
  Batch batch;
  for (int i = 0; i < 4; ++i) REQUIRE(engine.next(batch, 20s) == Engine::Next::batch);
  CHECK(engine.ready() == 1);
  CHECK(source->reads == 20);  // none for a sixth batch
}

TEST_CASE("threads: only the active ones work, and all of them end") {
  const auto source = std::make_shared<LevelSource>(40);
  std::atomic<bool> stuck = true;
  source->stuck = &stuck;
  Engine engine(source, options(6, 4));
  engine.start(0, 0);
  const auto reads_become = [&](int wanted) {
    const auto until = std::chrono::steady_clock::now() + 20s;
    while (source->reads < wanted && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(1ms);
    }
    return source->reads.load();
  };
  CHECK(reads_become(6) == 6);
  engine.set_threads(9);
  CHECK(reads_become(9) == 9);
  CHECK(engine.stats().threads == 9);
  engine.set_threads(1);
  CHECK(engine.stats().threads == 1);
  stuck = false;
  run_epoch(engine, 0);
  CHECK(engine.end().empty());
}

TEST_CASE("threads: a loader that is tuned gives the batches of one that is not") {
  const auto source = std::make_shared<LevelSource>(200, 16);
  LoaderOptions tuned = options(2, 8);
  tuned.tune_threads = true;
  Engine one(source, tuned), other(source, options(2, 8));
  for (const std::uint64_t epoch : {0u, 1u})
    CHECK(run_epoch(one, epoch) == run_epoch(other, epoch));
  CHECK(one.stats().threads >= 1);
  CHECK(other.stats().predicted_rate == 0);
  CHECK(other.tuning_entries().empty());
}

TEST_CASE("threads: time of threads that could work is counted with their number") {
  Engine engine(std::make_shared<LevelSource>(40), options(2, 4));
  engine.start(0, 0);
  const LoaderStats before = engine.stats();
  engine.set_threads(8);
  std::this_thread::sleep_for(20ms);
  engine.set_threads(1);
  const LoaderStats after = engine.stats();
  CHECK(after.thread_s - before.thread_s >= 8 * 0.02);
  CHECK(after.thread_s <= 8 * after.elapsed_s);
}

}  // namespace tundish
