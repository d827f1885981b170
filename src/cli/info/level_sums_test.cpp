#include "cli/info/level_sums.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

namespace tundish::cli {

TEST_CASE("the widest row of the highest level does not overflow") {
  const int width = 65'535;
  const std::vector<std::uint8_t> row(3 * std::size_t{65'535}, 255);
  SumSink sink({width, 2});
  for (int y = 0; y < 2; ++y) sink.push({row.data(), std::ptrdiff_t{3} * width, 0, y, width, 1});
  CHECK(sink.sums.pixels == 2 * 65'535);
  for (std::size_t c = 0; c < 3; ++c) {
    CHECK(sink.sums.sum[c] == std::uint64_t{2} * 65'535 * 255);
    CHECK(sink.sums.squares[c] == std::uint64_t{2} * 65'535 * 255 * 255);
    CHECK(sink.sums.mean()[c] == 1);
    CHECK(sink.sums.std()[c] == 0);
  }
}

TEST_CASE("channels are summed apart, and rows by their stride") {
  // two rows of two pixels, with a gap after each
  const std::vector<std::uint8_t> rows = {1, 2, 3, 5, 6, 7, 99, 9, 10, 11, 13, 14, 15, 99};
  SumSink sink({2, 2});
  sink.push({rows.data(), 7, 0, 0, 2, 2});
  CHECK(sink.sums.pixels == 4);
  CHECK(sink.sums.sum == std::array<std::uint64_t, 3>{28, 32, 36});
  CHECK(sink.sums.squares == std::array<std::uint64_t, 3>{276, 336, 404});
  CHECK(sink.sums.mean()[0] == doctest::Approx(7.0 / 255));
  CHECK(sink.sums.std()[0] == doctest::Approx(std::sqrt(20.0) / 255));
}

TEST_CASE("more pixels than 64 bits can hold the squares of are refused") {
  LevelSums sums{.pixels = kMaxSummedPixels, .sum = {}, .squares = {}};
  CHECK_FALSE(sums.add({.pixels = 1, .sum = {1, 1, 1}, .squares = {1, 1, 1}}));
  CHECK(sums.sum[0] == 0);
  CHECK(sums.add({}));
}

}  // namespace tundish::cli
