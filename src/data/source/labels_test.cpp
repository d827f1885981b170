#include "data/source/labels.h"

#include <doctest/doctest.h>

namespace tundish {
namespace {

StringTable table(const std::vector<std::string>& texts) {
  StringTable out;
  for (const std::string& text : texts) out.add(text);
  return out;
}

TEST_CASE("names of classes come back, whatever bytes they hold") {
  const std::vector<std::string> names = {"cat", "", "3:dog,", "line\nend", std::string("\0,:", 3)};
  CHECK(read_class_list(class_list_text(names)) == names);
  CHECK(read_class_list(class_list_text({})) == std::vector<std::string>{});
  CHECK(class_list_text({"cat", "dog"}) == "tundish classes 3:cat,3:dog,");
}

TEST_CASE("other texts are no list") {
  for (const char* text : {"", "made by tar", "tundish classes 3:cat", "tundish classes 3cat,",
                           "tundish classes 4:cat,", "tundish classes 99999999999999999999:cat,",
                           "tundish classes -1:,", "tundish classes 18446744073709551615:a,"}) {
    CHECK_MESSAGE(!read_class_list(text), text);
  }
}

TEST_CASE("a list that is cut off anywhere between two names or inside one is shorter or none") {
  const std::vector<std::string> names = {"a", "bc", "def"};
  const std::string text = class_list_text(names);
  for (std::size_t length = 0; length < text.size(); ++length) {
    const auto found = read_class_list(std::string_view(text).substr(0, length));
    if (!found) continue;
    REQUIRE(found->size() < names.size());
    CHECK(std::equal(found->begin(), found->end(), names.begin()));
  }
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

TEST_CASE("names among numbers are refused where all are numbers or none is") {
  Labels labels;
  const auto fault = make_labels(labels, table({"0", "11", "3x", "y"}), MixedLabels::refused);
  REQUIRE(fault);
  CHECK(fault->sample == 2);
  CHECK(fault->reason == "the label '3x' is no number, but others are, such as '0'");
  CHECK_FALSE(make_labels(labels, table({"dog", "3x"}), MixedLabels::refused));
  CHECK_FALSE(make_labels(labels, table({"0", "11"}), MixedLabels::refused));
  CHECK(labels.values == std::vector<std::int64_t>{0, 11});
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
