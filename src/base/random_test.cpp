#include "base/random.h"

#include <doctest/doctest.h>

#include <array>

namespace tundish {

TEST_CASE("the same key gives the same numbers") {
  const Key key{.seed = 1, .epoch = 2, .sample = 3};
  Random first(key, 4), second(key, 4);
  for (int i = 0; i < 10; ++i) CHECK(first.next() == second.next());
}

TEST_CASE("every part of the key matters") {
  const auto draw = [](const Key& key, std::uint32_t operation) {
    return Random(key, operation).next();
  };
  const std::uint64_t base = draw({}, 0);
  CHECK(base != draw({.seed = 1}, 0));
  CHECK(base != draw({.epoch = 1}, 0));
  CHECK(base != draw({.sample = 1}, 0));
  CHECK(base != draw({.repeat = 1}, 0));
  CHECK(base != draw({.view = 1}, 0));
  CHECK(base != draw({}, 1));
}

TEST_CASE("below() draws every number of its range equally often") {
  Random random({.seed = 7}, 0);
  std::array<int, 10> counts{};
  for (int i = 0; i < 100'000; ++i) ++counts[random.below(10)];
  for (const int count : counts) {
    CHECK(count > 9'500);
    CHECK(count < 10'500);
  }
}

TEST_CASE("uniform numbers stay inside [0, 1) and average one half") {
  Random random({.seed = 9}, 0);
  double sum = 0;
  for (int i = 0; i < 100'000; ++i) {
    const double value = random.uniform();
    REQUIRE(value >= 0.0);
    REQUIRE(value < 1.0);
    sum += value;
  }
  CHECK(sum / 100'000 == doctest::Approx(0.5).epsilon(0.01));
}

TEST_CASE("the streams never change: saved runs depend on them") {
  Random random({.seed = 1, .epoch = 2, .sample = 3, .repeat = 4, .view = 5}, 6);
  const std::uint64_t first = random.next();
  CHECK(first == 0x4a6e954cb3e7cd31u);
}

}  // namespace tundish
