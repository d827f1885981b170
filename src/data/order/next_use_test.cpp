#include "data/order/next_use.h"

#include <doctest/doctest.h>

#include <map>

#include "base/random.h"
#include "data/order/sampling.h"

namespace tundish {
namespace {

TEST_CASE("unpermute undoes permute") {
  for (const std::uint64_t count : {1u, 2u, 3u, 5u, 16u, 17u, 1000u, 4097u}) {
    for (std::uint64_t i = 0; i < count; ++i) {
      REQUIRE(unpermute(permute(i, count, 77), count, 77) == i);
      REQUIRE(permute(unpermute(i, count, 78), count, 78) == i);
    }
  }
}

// All visits of a rank in order, found by walking: the reference implementation.
struct Visit {
  RunPlace place;
  std::uint64_t sample = 0, time = 0;
  bool padding = false;
};

std::vector<Visit> walk(const Order& order, const Schedule& schedule, std::uint64_t epochs,
                        std::uint64_t first_position) {
  std::vector<Visit> out;
  const std::uint64_t length = epoch_length(order);
  for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
    for (std::uint64_t start = epoch == 0 ? first_position : 0; steps_from(schedule, start) > 0;) {
      const Step step = step_at(schedule, start);
      for (std::uint64_t at = step.first; at < step.first + step.size; ++at) {
        out.push_back({.place = {epoch, at, start},
                       .sample = draw_at(order, epoch, at).sample,
                       .time = epoch * length + at,
                       .padding = at >= length});
      }
      start = step.next;
    }
  }
  return out;
}

SamplingOptions random_sampling(Random& random, std::uint64_t count) {
  SamplingOptions out;
  out.repeats = static_cast<std::uint32_t>(1 + random.below(3));
  if (random.below(2) == 0) out.draws = 1 + random.below(2 * count);
  if (random.below(3) == 0) {
    for (std::uint64_t i = 0; i < count; i += 1 + random.below(3)) out.samples.push_back(i);
  }
  if (random.below(4) == 0) {
    out.sampling = Sampling::listed;
    for (std::uint64_t i = 0; i <= count; ++i) out.samples.push_back(random.below(count));
  } else if (random.below(2) == 0) {
    out.sampling = Sampling::groups;
    const std::uint64_t all = out.samples.empty() ? count : out.samples.size();
    const std::uint64_t first = 1 + random.below(all - 1);
    out.group_sizes = {first, all - first};
    out.weights = {1.0, static_cast<double>(1 + random.below(4))};
  }
  return out;
}

TEST_CASE("the next use is the next visit of the rank, for every invertible order") {
  std::uint64_t checked = 0, unknown = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Random random({.seed = seed}, 1);
    const std::uint64_t count = 4 + random.below(40);
    const SamplingOptions sampling = random_sampling(random, count);
    const bool shuffle = random.below(3) > 0;
    const Order order = make_order(sampling, count, [](std::uint64_t) { return 0; }, seed, shuffle);
    const auto world = static_cast<std::uint32_t>(1 + random.below(3));
    const Schedule schedule{.count = epoch_length(order),
                            .batch_size = static_cast<std::uint32_t>(1 + random.below(5)),
                            .rank = static_cast<std::uint32_t>(random.below(world)),
                            .world_size = world,
                            .uneven = static_cast<Uneven>(random.below(3))};
    const NextUse next_use(order, schedule);
    const std::vector<Visit> visits = walk(order, schedule, 10, random.below(schedule.count));
    std::map<std::uint64_t, std::uint64_t> next;  // time of the next visit, by sample
    for (auto visit = visits.rbegin(); visit != visits.rend(); ++visit) {
      if (visit->padding) continue;
      const auto [epoch, position, start] = visit->place;
      const std::uint64_t said = next_use.from({epoch, position + 1, start}, visit->sample);
      const auto known = next.find(visit->sample);
      unknown += known != next.end() && said == NextUse::kUnknown;
      if (known != next.end() && said != NextUse::kUnknown) {
        INFO("seed ", seed, " epoch ", epoch, " position ", position, " ", describe(order));
        REQUIRE(said == known->second);
        ++checked;
      }
      REQUIRE(next_use.from(visit->place, visit->sample) == visit->time);
      next[visit->sample] = visit->time;
    }
  }
  CHECK(checked > 10'000);
  CHECK(unknown * 50 < checked);  // beyond the search horizon
}

TEST_CASE("the next use of a weighted draw is not known") {
  SamplingOptions options{.sampling = Sampling::weighted};
  options.weights = {1, 2, 3};
  const Order order = make_order(options, 3, [](std::uint64_t) { return 0; }, 1, true);
  CHECK(NextUse(order, {.count = 3}).from({}, 1) == NextUse::kUnknown);
}

}  // namespace
}  // namespace tundish
