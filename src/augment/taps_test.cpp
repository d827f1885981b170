#include "augment/taps.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <numeric>

namespace tundish {

TEST_CASE("halving a line of eight takes three-to-one weights from both sides") {
  Taps taps;
  make_taps(taps, 8, 4, 1, 1, Filter::bilinear);
  CHECK(taps.first == std::vector<int>{1});
  CHECK(taps.count == 4);
  CHECK(taps.weight == std::vector<std::int32_t>{1 << 19, 3 << 19, 3 << 19, 1 << 19});
}

TEST_CASE("equal sizes copy") {
  Taps taps;
  make_taps(taps, 7, 7, 2, 3, Filter::bicubic);
  CHECK(taps.first == std::vector<int>{2, 3, 4});
  CHECK(taps.weight == std::vector<std::int32_t>(3, 1 << 22));
}

TEST_CASE("nearest takes the sample under the middle of each output") {
  Taps taps;
  make_taps(taps, 4, 8, 0, 8, Filter::nearest);
  CHECK(taps.first == std::vector<int>{0, 0, 1, 1, 2, 2, 3, 3});
  make_taps(taps, 10, 3, 0, 3, Filter::nearest);
  CHECK(taps.first == std::vector<int>{1, 5, 8});
}

TEST_CASE("the taps of a window are those of the whole line") {
  for (const Filter filter : {Filter::nearest, Filter::bilinear, Filter::bicubic}) {
    Taps whole, part;
    make_taps(whole, 300, 224, 0, 224, filter);
    make_taps(part, 300, 224, 100, 20, filter);
    for (int i = 0; i < 20; ++i) {
      const auto a = static_cast<std::size_t>(i), b = a + 100;
      CHECK(part.first[a] == whole.first[b]);
      REQUIRE(part.used[a] == whole.used[b]);
      for (std::size_t k = 0; k < static_cast<std::size_t>(part.used[a]); ++k) {
        CHECK(part.weight[a * static_cast<std::size_t>(part.count) + k] ==
              whole.weight[b * static_cast<std::size_t>(whole.count) + k]);
      }
    }
  }
}

TEST_CASE("weights sum to one, but for the rounding of each") {
  Taps taps;
  for (const Filter filter : {Filter::bilinear, Filter::bicubic}) {
    for (const int in : {1, 2, 3, 31, 224, 225, 1000, 5000}) {
      make_taps(taps, in, 224, 0, 224, filter);
      for (int i = 0; i < 224; ++i) {
        const auto weight = taps.weight.begin() + i * taps.count;
        const int sum = std::accumulate(weight, weight + taps.count, 0);
        CHECK(std::abs(sum - (1 << 22)) <= taps.count);
        CHECK(taps.first[static_cast<std::size_t>(i)] >= 0);
        CHECK(taps.first[static_cast<std::size_t>(i)] + taps.used[static_cast<std::size_t>(i)] <=
              in);
      }
    }
  }
}

TEST_CASE("mirroring inputs and outputs twice changes nothing") {
  Taps taps, twice;
  make_taps(taps, 300, 224, 5, 100, Filter::bicubic);
  make_taps(twice, 300, 224, 5, 100, Filter::bicubic);
  for (int i = 0; i < 2; ++i) {
    mirror_inputs(twice, 300);
    mirror_outputs(twice);
  }
  CHECK(twice.first == taps.first);
  CHECK(twice.used == taps.used);
  CHECK(twice.weight == taps.weight);
}

}  // namespace tundish
