#include "cli/env/environment_report.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace tundish::cli {
namespace {

const Findings kFindings = {
    {.area = "cpu",
     .name = "threads",
     .level = Level::problem,
     .figure = "64",
     .reason = "a|b`c\n<d>",
     .fix = "x | y"},
    {.area = "memory", .name = "left", .level = Level::ok, .figure = "1 GiB"},
    {.area = "memory",
     .name = "swap",
     .level = Level::warning,
     .figure = "2",
     .reason = "r",
     .fix = "f"}};

TEST_CASE("the text has each finding below its area, and the counts") {
  const std::string text = environment_text(kFindings, false);
  CHECK(text.starts_with("cpu\n  problem  threads"));
  CHECK(text.find("\nmemory\n  ok       left") != text.npos);
  CHECK(text.find("           fix: x | y\n") != text.npos);
  CHECK(text.ends_with("1 problem, 1 warning, 1 ok\n"));
  CHECK(text.find('\x1b') == text.npos);
  CHECK(environment_text(kFindings, true).find("\x1b[31mproblem") != text.npos);
}

TEST_CASE("the table has one line of five cells for each finding, whatever their text is") {
  const std::string text = environment_markdown(kFindings);
  CHECK(text.find("| problem | cpu | threads | 64: a\\|b\\`c \\<d> | `x \\| y` |\n") != text.npos);
  CHECK(std::count(text.begin(), text.end(), '\n') == 7);
}

TEST_CASE("the worst level counts") {
  CHECK(worst_level(kFindings) == Level::problem);
  CHECK(worst_level({kFindings[1], kFindings[2]}) == Level::warning);
  CHECK(worst_level({}) == Level::ok);
  CHECK(count_of(kFindings, Level::ok) == 1);
}

}  // namespace
}  // namespace tundish::cli
