#include "data/order/order.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <vector>

#include "data/order/schedule.h"

namespace tundish {

TEST_CASE("an epoch visits every sample exactly once") {
  for (const std::uint64_t count : {1u, 2u, 3u, 4u, 5u, 16u, 17u, 63u, 64u, 65u, 1000u, 4097u}) {
    for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
      std::vector<int> visits(count);
      for (std::uint64_t p = 0; p < count; ++p) {
        const Draw draw = draw_at({.count = count, .seed = 5, .shuffle = true}, epoch, p);
        REQUIRE(draw.sample < count);
        CHECK(draw.repeat == 0);
        ++visits[draw.sample];
      }
      for (const int n : visits) REQUIRE(n == 1);
    }
  }
}

TEST_CASE("a million samples come exactly once in each epoch, whatever the number of ranks") {
  constexpr std::uint64_t kCount = 1'000'003;
  const Order order{.count = kCount, .seed = 9, .shuffle = true};
  std::vector<std::uint32_t> sample_at(kCount);
  std::vector<std::uint8_t> visits;
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    for (std::uint64_t p = 0; p < kCount; ++p) {
      sample_at[p] = static_cast<std::uint32_t>(draw_at(order, epoch, p).sample);
    }
    for (std::uint32_t world = 1; world <= 16; ++world) {
      visits.assign(kCount, 0);
      Schedule schedule{.count = kCount,
                        .batch_size = 67,
                        .rank = 0,
                        .world_size = world,
                        .uneven = Uneven::exact};
      // Every rank iterates alone; the batch size changes halfway.
      for (schedule.rank = 0; schedule.rank < world; ++schedule.rank) {
        std::uint64_t at = 0, steps = 0;
        schedule.batch_size = 67;
        while (steps_from(schedule, at) > 0) {
          const Step step = step_at(schedule, at);
          for (std::uint64_t p = step.first; p < step.first + step.size; ++p) {
            ++visits[sample_at[p]];
          }
          at = step.next;
          if (++steps == 400) schedule.batch_size = 101;
        }
        REQUIRE(at == kCount);
      }
      std::uint64_t once = 0;
      for (const std::uint8_t n : visits) once += n == 1;
      CHECK(once == kCount);
    }
  }
}

TEST_CASE("without shuffling the order is that of the file") {
  CHECK(draw_at({.count = 10, .seed = 5}, 3, 7) == Draw{7, 0});
}

TEST_CASE("positions after the end repeat the epoch, with a repeat number") {
  const Order order{.count = 10, .seed = 5, .shuffle = true};
  CHECK(draw_at(order, 1, 13).sample == draw_at(order, 1, 3).sample);
  CHECK(draw_at(order, 1, 13).repeat == 1);
}

TEST_CASE("epochs and seeds have their own order") {
  const auto epoch_order = [](std::uint64_t seed, std::uint64_t epoch) {
    std::vector<std::uint64_t> order;
    for (std::uint64_t p = 0; p < 100; ++p) {
      order.push_back(draw_at({.count = 100, .seed = seed, .shuffle = true}, epoch, p).sample);
    }
    return order;
  };
  CHECK(epoch_order(1, 0) != epoch_order(1, 1));
  CHECK(epoch_order(1, 0) != epoch_order(2, 0));
  CHECK(epoch_order(1, 4) == epoch_order(1, 4));
}

TEST_CASE("every order of a small set comes up about equally often") {
  std::map<std::vector<std::uint64_t>, int> seen;
  constexpr int kEpochs = 24'000;
  for (std::uint64_t epoch = 0; epoch < kEpochs; ++epoch) {
    std::vector<std::uint64_t> order;
    for (std::uint64_t p = 0; p < 4; ++p) {
      order.push_back(draw_at({.count = 4, .seed = 3, .shuffle = true}, epoch, p).sample);
    }
    ++seen[order];
  }
  CHECK(seen.size() == 24);
  for (const auto& [order, times] : seen) {
    CHECK(times > 700);
    CHECK(times < 1300);
  }
}

namespace {

// Deviation of counts from an even distribution, in standard deviations of chi-square.
double unevenness(const std::vector<double>& counts, double expected, double freedom) {
  double sum = 0;
  for (const double n : counts) sum += (n - expected) * (n - expected) / expected;
  return (sum - freedom) / std::sqrt(2 * freedom);
}

}  // namespace

// A Feistel network gave up to 43 (positions) and 109 (neighbors).
TEST_CASE("a few samples come at every position, and after every other sample, equally often") {
  constexpr int kSeeds = 100'000;
  for (const std::uint64_t count : {2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u, 12u, 15u, 16u}) {
    std::vector<double> at(count * count), after(count * count);
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      const Order order{.count = count, .seed = seed, .shuffle = true};
      std::uint64_t previous = count;
      for (std::uint64_t p = 0; p < count; ++p) {
        const std::uint64_t sample = draw_at(order, 1, p).sample;
        ++at[p * count + sample];
        if (previous < count) ++after[previous * count + sample];
        previous = sample;
      }
    }
    CAPTURE(count);
    const auto n = static_cast<double>(count);
    CHECK(unevenness(at, kSeeds / n, (n - 1) * (n - 1)) < 4);
    // A sample never follows itself: its zero count is replaced by the expected value.
    for (std::uint64_t i = 0; i < count; ++i) after[i * (count + 1)] = kSeeds / n;
    CHECK(unevenness(after, kSeeds / n, n * (n - 1) - 1) < 4);
  }
}

TEST_CASE("up to 64 samples every order is drawn, odd ones too, and unpermute is the inverse") {
  for (const std::uint64_t count : {1u, 2u, 16u, 17u, 63u, 64u, 65u, 256u}) {
    int odd = 0;
    constexpr int kKeys = 400;
    for (std::uint64_t key = 0; key < kKeys; ++key) {
      std::vector<bool> seen(count);
      std::uint64_t cycles = 0;
      for (std::uint64_t i = 0; i < count; ++i) {
        REQUIRE(unpermute(permute(i, count, key), count, key) == i);
        cycles += !seen[i];
        for (std::uint64_t k = i; !seen[k]; k = permute(k, count, key)) seen[k] = true;
      }
      odd += (count - cycles) % 2 != 0;
    }
    CAPTURE(count);
    if (count == 1 || count > 64) continue;
    CHECK(odd > kKeys * 2 / 5);  // a Feistel network over 4 or 6 bits yields even ones only
    CHECK(odd < kKeys * 3 / 5);
  }
}

TEST_CASE("neighbors do not stay neighbors") {
  constexpr std::uint64_t kCount = 100'000;
  const Order order{.count = kCount, .seed = 11, .shuffle = true};
  int neighbors = 0;
  for (std::uint64_t p = 0; p + 1 < kCount; ++p) {
    const std::uint64_t a = draw_at(order, 0, p).sample, b = draw_at(order, 0, p + 1).sample;
    neighbors += a + 1 == b || b + 1 == a;
  }
  CHECK(neighbors < 20);  // a random order has 2 on average
}

TEST_CASE("the order never changes: saved runs depend on it") {
  const Order order{.count = 1000, .seed = 42, .shuffle = true};
  const std::vector<std::uint64_t> expected = {875, 498, 706, 386, 553};
  for (std::size_t p = 0; p < expected.size(); ++p)
    CHECK(draw_at(order, 7, p).sample == expected[p]);
}

TEST_CASE("the order of a few samples, which is drawn in another way, never changes") {
  const auto first = [](std::uint64_t count) {
    std::vector<std::uint64_t> out;
    const Order order{.count = count, .seed = 42, .shuffle = true};
    for (std::uint64_t p = 0; p < 5; ++p) out.push_back(draw_at(order, 7, p).sample);
    return out;
  };
  CHECK(first(10) == std::vector<std::uint64_t>{8, 2, 5, 3, 9});
  CHECK(first(64) == std::vector<std::uint64_t>{40, 52, 43, 42, 34});
  CHECK(first(65) == std::vector<std::uint64_t>{21, 29, 10, 55, 24});
}

TEST_CASE("a substitute is chosen by seed, epoch, position and attempt, not by what came before") {
  const Order order{.count = 1'000'000, .seed = 42, .shuffle = true};
  Order other = order;
  other.seed = 43;
  const std::uint64_t expected = substitute_draw(order, 1, 5, 0).sample;
  for (std::uint64_t position = 20; position > 0; --position) {  // other draws in between
    const std::uint64_t sample = substitute_draw(order, 1, position, 0).sample;
    CHECK((sample == expected) == (position == 5));
  }
  CHECK(substitute_draw(order, 1, 5, 1).sample != expected);
  CHECK(substitute_draw(order, 2, 5, 0).sample != expected);
  CHECK(substitute_draw(other, 1, 5, 0).sample != expected);
  CHECK(substitute_draw(order, 1, 5, 0).sample == expected);
}

}  // namespace tundish
