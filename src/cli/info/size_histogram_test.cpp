#include "cli/info/size_histogram.h"

#include <doctest/doctest.h>

namespace tundish::cli {

TEST_CASE("bins have no gaps between the smallest and the largest value") {
  const std::vector<SizeBin> bins = size_histogram({64, 95, 96, 500, 500});
  REQUIRE(bins.size() == 6);
  CHECK(bins.front().from == 64);
  CHECK(bins.front().to == 95);
  CHECK(bins.front().count == 2);
  CHECK(bins[1].from == 96);
  CHECK(bins[1].count == 1);
  CHECK(bins.back().from == 384);
  CHECK(bins.back().to == 511);
  CHECK(bins.back().count == 2);
  for (std::size_t i = 1; i < bins.size(); ++i) CHECK(bins[i].from == bins[i - 1].to + 1);
}

TEST_CASE("every value is in one bin, the extremes too") {
  const std::vector<SizeBin> bins = size_histogram({1, 2, 3, UINT32_MAX});
  CHECK(bins.front().from == 1);
  CHECK(bins.front().to == 1);
  CHECK(bins.back().to == UINT32_MAX);
  std::uint64_t all = 0;
  for (const SizeBin& bin : bins) all += bin.count;
  CHECK(all == 4);
  CHECK(size_histogram({}).empty());
  CHECK(size_histogram({0}).empty());
}

TEST_CASE("a bin with few images has a bar too") {
  const std::vector<SizeBin> bins = {{1, 1, 1000}, {2, 2, 0}, {3, 3, 1}};
  CHECK(histogram_text(bins, 10) ==
        "                 1        1,000  ##########\n"
        "                 2            0\n"
        "                 3            1  #\n");
}

}  // namespace tundish::cli
