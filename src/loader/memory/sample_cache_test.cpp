#include "loader/memory/sample_cache.h"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>

#include "data/order/next_use.h"

namespace tundish {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

std::vector<std::byte> bytes_of(std::uint64_t number, std::uint64_t count) {
  std::vector<std::byte> out;
  for (std::uint64_t i = 0; i < count; ++i) out.push_back(static_cast<std::byte>(number * 31 + i));
  return out;
}

// Visits a sample like a thread of a loader. Returns true for a hit. `wrong` counts samples with
// wrong bytes.
bool visit(SampleCache& cache, std::uint64_t sample, const std::vector<std::byte>& expected,
           std::uint64_t next, std::atomic<int>& wrong) {
  if (const auto found = cache.find(sample, next)) {
    std::vector<std::byte> out(expected.size());
    found->read(out.data(), 0, out.size());
    wrong += out != expected;
    return true;
  }
  if (auto room = cache.make_room(sample, expected.size(), next)) {
    room->write(0, expected.data(), expected.size());
    room.keep();
  }
  return false;
}

TEST_CASE("with all in memory an epoch has no misses after the first") {
  MemoryBudget budget(4 * kMiB);
  SampleCache cache(CacheKind::encoded, budget, 4 * kMiB);
  const Order order{.count = 100, .seed = 1, .shuffle = true};
  const NextUse next_use(order, {.count = 100, .batch_size = 10});
  std::atomic<int> wrong{0};
  int hits = 0;
  for (std::uint64_t t = 0; t < 300; ++t) {
    const std::uint64_t sample = draw_at(order, t / 100, t % 100).sample;
    hits += visit(cache, sample, bytes_of(sample, 9000),
                  next_use.from({t / 100, t % 100 + 1, 0}, sample), wrong);
  }
  CHECK(hits == 200);
  CHECK(wrong == 0);
  CHECK(cache.bytes() == 100 * 3 * kPageBytes);
}

TEST_CASE("cache space that is not used is released") {
  MemoryBudget budget(kMiB);
  SampleCache cache(CacheKind::encoded, budget, kMiB);
  {
    CHECK(cache.make_room(1, kMiB, 5));
  }
  CHECK(cache.bytes() == 0);
  CHECK_FALSE(cache.find(1, 5));
  CHECK(cache.make_room(2, kMiB, 5));
}

TEST_CASE("a sample at work takes its memory from the cache, the latest ones first") {
  MemoryBudget budget(kMiB);
  SampleCache cache(CacheKind::encoded, budget, kMiB);
  std::atomic<int> wrong{0};
  for (std::uint64_t i = 0; i < 4; ++i) visit(cache, i, bytes_of(i, kMiB / 4), 10 + i, wrong);
  CHECK(cache.bytes() == kMiB);
  CHECK(budget.lendable() == 0);
  CHECK(budget.take(kMiB / 3, 1) == MemoryBudget::Answer::granted);
  CHECK(cache.bytes() == kMiB / 2);
  CHECK(cache.find(1, 20));
  CHECK_FALSE(cache.find(2, 20));
  CHECK(budget.most_used() == kMiB);
  CHECK_FALSE(cache.make_room(7, kMiB / 4, 30));  // others are needed sooner, and no memory is left
  budget.give(kMiB / 3);
  CHECK(cache.make_room(7, kMiB / 4, 30));
}

TEST_CASE("a cached sample is not freed while it is being read") {
  MemoryBudget budget(kMiB);
  SampleCache cache(CacheKind::encoded, budget, kMiB);
  std::atomic<int> wrong{0};
  const auto bytes = bytes_of(3, kMiB);
  visit(cache, 3, bytes, 10, wrong);
  auto reading = cache.find(3, 11);
  REQUIRE(reading);
  std::jthread thread([&] { CHECK(budget.take(kMiB, 1) == MemoryBudget::Answer::granted); });
  while (cache.bytes() > 0) std::this_thread::yield();
  std::vector<std::byte> out(bytes.size());
  reading->read(out.data(), 0, out.size());
  CHECK(out == bytes);
  CHECK_FALSE(cache.make_room(4, 1, 12));
  reading.reset();
}

TEST_CASE("what comes out of a cache is what went in, with many threads and little memory") {
  constexpr std::uint64_t kCount = 300;
  const Order order{.count = kCount, .seed = 4, .shuffle = true};
  const NextUse next_use(order, {.count = kCount, .batch_size = 10});
  const auto hits_with = [&](std::uint64_t count) {
    MemoryBudget budget(2 * kMiB);
    SampleCache cache(CacheKind::encoded, budget, 2 * kMiB);
    std::atomic<int> wrong{0}, hits{0};
    {
      std::vector<std::jthread> threads;
      for (std::uint64_t t = 0; t < count; ++t) {
        threads.emplace_back([&, t] {
          for (std::uint64_t at = t; at < 4 * kCount; at += count) {
            const std::uint64_t epoch = at / kCount, position = at % kCount;
            const std::uint64_t sample = draw_at(order, epoch, position).sample;
            hits += visit(cache, sample, bytes_of(sample, 1 + sample * 37 % 20'000),
                          next_use.from({epoch, position + 1, 0}, sample), wrong);
            if (at % 50 == t) {  // this is a large sample
              if (budget.take(kMiB, at) == MemoryBudget::Answer::granted) budget.give(kMiB);
            }
          }
        });
      }
    }
    CHECK(wrong == 0);
    CHECK(budget.most_used() <= budget.bytes());
    return hits.load();
  };
  // The number of hits depends on thread scheduling: a sample takes microseconds here. Often a
  // thread that holds its memory waits for a core, and nothing is cached meanwhile.
  hits_with(4);
  const int alone = hits_with(1);
  CHECK(alone == hits_with(1));
  CHECK(alone > 50);
}

}  // namespace
}  // namespace tundish
