#include "data/order/schedule.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

namespace tundish {
namespace {

// Returns all positions that the world takes from `start` on, step by step, rank by rank.
std::vector<std::uint64_t> positions(Schedule schedule, std::uint64_t start) {
  std::vector<std::uint64_t> all;
  while (steps_from(schedule, start) > 0) {
    std::uint64_t next = start;
    for (schedule.rank = 0; schedule.rank < schedule.world_size; ++schedule.rank) {
      const Step step = step_at(schedule, start);
      for (std::uint32_t i = 0; i < step.size; ++i) all.push_back(step.first + i);
      next = step.next;
    }
    REQUIRE(next > start);
    start = next;
  }
  CHECK(start == schedule.count);
  return all;
}

std::vector<std::uint64_t> first_n(std::uint64_t n) {
  std::vector<std::uint64_t> all(n);
  for (std::uint64_t i = 0; i < n; ++i) all[i] = i;
  return all;
}

}  // namespace

TEST_CASE("exact: the ranks together take every position once, in order") {
  for (std::uint64_t count = 1; count < 40; ++count) {
    for (const std::uint32_t world : {1u, 2u, 3u, 8u}) {
      for (const std::uint32_t batch : {1u, 3u, 7u}) {
        const Schedule schedule{
            .count = count, .batch_size = batch, .world_size = world, .uneven = Uneven::exact};
        CHECK(positions(schedule, 0) == first_n(count));
      }
    }
  }
}

TEST_CASE("pad: every rank gets equally many, at most world_size - 1 repeats") {
  for (std::uint64_t count = 1; count < 40; ++count) {
    for (const std::uint32_t world : {1u, 2u, 3u, 8u}) {
      const Schedule schedule{.count = count, .batch_size = 4, .world_size = world};
      const auto all = positions(schedule, 0);
      CHECK(all.size() % world == 0);
      CHECK(all.size() >= count);
      CHECK(all.size() < count + world);
      CHECK(all == first_n(all.size()));
    }
  }
}

TEST_CASE("drop: only whole global batches") {
  const Schedule schedule{.count = 23, .batch_size = 4, .world_size = 2, .uneven = Uneven::drop};
  CHECK(steps_from(schedule, 0) == 2);
  CHECK(positions(schedule, 0) == first_n(16));
  CHECK(step_at(schedule, 8).next == 23);
  CHECK(steps_from({.count = 7, .batch_size = 8, .uneven = Uneven::drop}, 0) == 0);
}

TEST_CASE("a change of world or batch size in the middle keeps exactly-once") {
  const Schedule before{.count = 100, .batch_size = 8, .world_size = 2, .uneven = Uneven::exact};
  std::uint64_t at = 0;
  for (int step = 0; step < 3; ++step) at = step_at(before, at).next;
  const Schedule after{.count = 100, .batch_size = 5, .world_size = 3, .uneven = Uneven::exact};
  auto rest = positions(after, at);
  CHECK(rest.size() == 100 - 48);
  CHECK(std::is_sorted(rest.begin(), rest.end()));
  CHECK(rest.front() == 48);
}

TEST_CASE("the global batch does not depend on how it is split") {
  const Schedule one{.count = 64, .batch_size = 16, .world_size = 1};
  const Schedule four{.count = 64, .batch_size = 4, .world_size = 4};
  CHECK(positions(one, 0) == positions(four, 0));
  CHECK(step_at(one, 16).next == step_at(four, 16).next);
}

}  // namespace tundish
