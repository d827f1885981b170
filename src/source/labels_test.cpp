#include "source/labels.h"

#include <doctest/doctest.h>

namespace tundish {
namespace {

StringTable table(const std::vector<std::string>& texts) {
  StringTable out;
  for (const std::string& text : texts) out.add(text);
  return out;
}

}  // namespace

TEST_CASE("labels that are whole numbers are taken as they are") {
  Labels labels;
  CHECK_FALSE(make_labels(labels, table({"3", "-1", "0", "7.0", "9223372036854775807"})));
  CHECK(labels.values == std::vector<std::int64_t>{3, -1, 0, 7, 9223372036854775807});
  CHECK(labels.classes.empty());
}

TEST_CASE("labels that are not all numbers are names in Python's order") {
  Labels labels;
  CHECK_FALSE(make_labels(labels, table({"dog", "10", "Cat", "dog", "9", "\xff", "\xc3\xa4"})));
  CHECK(labels.classes == std::vector<std::string>{"10", "9", "Cat", "dog", "\xc3\xa4", "\xff"});
  CHECK(labels.values == std::vector<std::int64_t>{3, 0, 2, 3, 1, 5, 4});
}

TEST_CASE("an invalid label is named") {
  Labels labels;
  for (const char* text : {"", "1.5", "-2", "9223372036854775808", "1e300", "-0.5"}) {
    const auto fault = make_labels(labels, table({"1", text}));
    REQUIRE(fault);
    CHECK(fault->sample == 1);
  }
}

}  // namespace tundish
