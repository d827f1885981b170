#include "cli/progress.h"

#include <doctest/doctest.h>

namespace tundish::cli {

TEST_CASE("the progress line has share, rates and the time left") {
  const Amount amount{
      .items = 50, .items_total = 100, .bytes = 500'000'000, .bytes_total = 2'000'000'000};
  CHECK(progress_line(amount, 10, "img", "", 100, false) ==
        "#####.................  25 %   5.00 img/s   50 MB/s   30 s left");
}

TEST_CASE("without a total there is neither a share nor a time left") {
  const Amount amount{.items = 1234, .items_total = 0, .bytes = 0, .bytes_total = 0};
  CHECK(progress_line(amount, 2, "img", "3 refused", 100, false) ==
        "1,234 img   617 img/s   3 refused");
}

TEST_CASE("a narrow terminal gets a line that fits") {
  const Amount amount{.items = 50, .items_total = 100, .bytes = 0, .bytes_total = 0};
  CHECK(progress_line(amount, 10, "img", "", 20, false).size() <= 20);
}

TEST_CASE("nothing done after no time is no division by zero") {
  CHECK(progress_line({}, 0, "img", "", 80, false) == "0 img");
  CHECK(progress_line({.items = 0, .items_total = 9, .bytes = 0, .bytes_total = 0}, 0, "img", "",
                      80, false) == "......................   0 %");
}

}  // namespace tundish::cli
