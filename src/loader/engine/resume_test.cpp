// Runs that stop and resume with other threads, ranks and batch sizes, against uninterrupted runs.
#include <doctest/doctest.h>
#include <xxhash.h>

#include <algorithm>
#include <cstdlib>

#include "augment/transform.h"
#include "base/testing.h"
#include "data/source/memory_source.h"
#include "loader/engine/engine.h"

namespace tundish {
namespace {

using namespace std::chrono_literals;

// Contents of a batch: sample number and digest of the pixels, image by image.
using Images = std::vector<std::pair<std::int64_t, std::uint64_t>>;

LoaderOptions options_of(int threads, std::uint32_t batch_size, std::uint32_t rank,
                         std::uint32_t world_size) {
  LoaderOptions options;
  options.batch_size = batch_size;
  options.shuffle = true;
  options.seed = 21;
  options.uneven = Uneven::exact;
  options.rank = rank;
  options.world_size = world_size;
  options.transforms = {RandomResizedCrop{.size = {3, 3}}, RandomHorizontalFlip{}};
  options.threads = threads;
  options.prefetch = 1;
  return options;
}

// Takes the next batch; false at the end of the epoch. `next`: position of the run after the batch.
bool take(Engine& engine, Images& into, std::uint64_t& next) {
  Batch batch;
  Engine::Next got = Engine::Next::again;
  while (got == Engine::Next::again) got = engine.next(batch, 1s);
  if (got == Engine::Next::end) return false;
  const std::size_t bytes = 3 * 3 * 3;
  for (std::uint32_t i = 0; i < batch.count; ++i) {
    into.emplace_back(batch.samples[i], XXH3_64bits(batch.views.front().pixels + i * bytes, bytes));
  }
  next = batch.next;
  return true;
}

Images whole_epoch(const std::shared_ptr<const Source>& source, LoaderOptions options,
                   std::uint64_t epoch) {
  options.batch_size = 64;
  options.rank = 0;
  options.world_size = 1;
  options.threads = 1;
  Engine engine(source, options);
  engine.start(epoch, 0);
  Images all;
  std::uint64_t next = 0;
  while (take(engine, all, next)) {
  }
  return all;
}

// All ranks of a run from a given position on; each rank is a new engine, as after a crash.
struct World {
  std::vector<std::unique_ptr<Engine>> ranks;

  World(const std::shared_ptr<const Source>& source, LoaderOptions options, std::uint64_t epoch,
        std::uint64_t position) {
    for (options.rank = 0; options.rank < options.world_size; ++options.rank) {
      ranks.push_back(std::make_unique<Engine>(source, options));
      ranks.back()->start(epoch, position);
    }
  }

  bool step(Images& into, std::uint64_t& next) {
    bool any = false;
    for (const auto& rank : ranks) any = take(*rank, into, next);
    return any;
  }
};

SamplingOptions random_sampling(Random& random, std::uint64_t count) {
  SamplingOptions sampling;
  sampling.sampling = static_cast<Sampling>(random.below(3));
  if (sampling.sampling == Sampling::weighted) {
    for (std::uint64_t i = 0; i < count; ++i) sampling.weights.push_back(random.uniform());
  }
  if (random.below(2)) sampling.draws = 1 + random.below(2 * count);
  sampling.repeats = 1 + static_cast<std::uint32_t>(random.below(3));
  return sampling;
}

std::uint64_t plans_to_try() {
  const char* wanted = std::getenv("TUNDISH_RESUME_PLANS");  // ./dev siege resume
  return wanted ? std::strtoull(wanted, nullptr, 10) : 100;
}

}  // namespace

TEST_CASE("a run resumed at any of 200 steps, with any threads and ranks, gives the same batches") {
  constexpr std::uint32_t kGlobalBatch = 24;
  constexpr std::uint64_t kSteps = 200;
  const auto source = std::make_shared<MemorySource>(image_source(kGlobalBatch * kSteps, 4));
  const Images expected = whole_epoch(source, options_of(1, 64, 0, 1), 2);
  REQUIRE(expected.size() == kGlobalBatch * kSteps);
  for (const std::uint32_t world_size : {1u, 2u, 3u, 8u}) {
    for (const int threads : {1, 2, 4, 8}) {
      const auto options = options_of(threads, kGlobalBatch / world_size, 0, world_size);
      for (std::uint64_t step = 0; step <= kSteps; step += one_in<std::uint64_t>(10)) {
        // Two steps from each position; the whole rest from a few.
        World world(source, options, 2, step * kGlobalBatch);
        const std::uint64_t last = step % 50 == 0 ? kSteps : std::min(step + 2, kSteps);
        Images got;
        std::uint64_t next = step * kGlobalBatch;
        for (std::uint64_t s = step; s < last; ++s) {
          REQUIRE(world.step(got, next));
          REQUIRE(next == (s + 1) * kGlobalBatch);
        }
        if (last == kSteps) REQUIRE_FALSE(world.step(got, next));
        const auto from = expected.begin() + static_cast<std::ptrdiff_t>(step * kGlobalBatch);
        REQUIRE(got.size() == (last - step) * kGlobalBatch);
        REQUIRE(std::equal(got.begin(), got.end(), from));
      }
    }
  }
}

TEST_CASE("random plans: three resumes with other ranks, threads and batches change nothing") {
  const std::uint64_t plans = plans_to_try();
  for (std::uint64_t plan = 0; plan < plans; ++plan) {
    CAPTURE(plan);
    Random random({.seed = 77, .sample = plan}, 0);
    const std::uint64_t count = 1 + random.below(300), epoch = random.below(5);
    const auto source = std::make_shared<MemorySource>(image_source(count, 5, plan));
    const SamplingOptions sampling = random_sampling(random, count);
    const auto leg = [&](int threads, std::uint32_t batch_size, std::uint32_t world_size) {
      LoaderOptions options = options_of(threads, batch_size, 0, world_size);
      options.order = sampling;
      return options;
    };
    const Images expected = whole_epoch(source, leg(1, 64, 1), epoch);
    Images got;
    std::uint64_t position = 0;
    for (int stop = 0; stop < 4; ++stop) {
      const auto threads = static_cast<int>(1 + random.below(4));
      const auto batch_size = static_cast<std::uint32_t>(1 + random.below(12));
      const auto world_size = static_cast<std::uint32_t>(1 + random.below(5));
      World world(source, leg(threads, batch_size, world_size), epoch, position);
      const std::uint64_t steps = stop == 3 ? ~std::uint64_t{0} : random.below(8);
      for (std::uint64_t s = 0; s < steps && world.step(got, position); ++s) {
      }
    }
    REQUIRE(position == expected.size());
    REQUIRE(got == expected);
  }
}

TEST_CASE("ten thousand samples come through the engine once per epoch, whatever the ranks") {
  constexpr std::uint64_t kCount = 10'000;
  const auto source = std::make_shared<MemorySource>(image_source(kCount, 4));
  for (const std::uint32_t world_size : {1u, 3u, 16u}) {
    for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
      World world(source, options_of(2, 97, 0, world_size), epoch, 0);
      Images got;
      std::uint64_t next = 0;
      while (world.step(got, next)) {
      }
      std::vector<int> visits(kCount);
      for (const auto& [sample, digest] : got) ++visits[static_cast<std::size_t>(sample)];
      CHECK(std::count(visits.begin(), visits.end(), 1) == static_cast<std::ptrdiff_t>(kCount));
      CHECK(got.size() == kCount);
    }
  }
}

}  // namespace tundish
