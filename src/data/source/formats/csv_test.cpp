#include "data/source/formats/csv.h"

#include <doctest/doctest.h>

#include "base/random.h"

namespace tundish {
namespace {

using Rows = std::vector<std::vector<std::string>>;

Rows rows_of(std::string_view text, char separator = ',') {
  CsvReader reader(text, separator, 100);
  Rows rows;
  CsvRow row;
  while (reader.next(row)) rows.push_back(row.cells);
  CHECK_FALSE(reader.fault());
  return rows;
}

Fault fault_of(std::string_view text) {
  CsvReader reader(text, ',', 5);
  CsvRow row;
  while (reader.next(row)) {
  }
  return reader.fault().value_or(Fault{});
}

}  // namespace

TEST_CASE("a list is split into rows and cells") {
  CHECK(rows_of("a,b\n1,2\n") == Rows{{"a", "b"}, {"1", "2"}});
  CHECK(rows_of("a,b\r\n1,2") == Rows{{"a", "b"}, {"1", "2"}});
  CHECK(rows_of("\n\r\na\n\n\nb\n\n") == Rows{{"a"}, {"b"}});
  CHECK(rows_of(",\n,,") == Rows{{"", ""}, {"", "", ""}});
  CHECK(rows_of("a\tb,c\n", '\t') == Rows{{"a", "b,c"}});
  CHECK(rows_of("\xef\xbb\xbf"
                "a,b") == Rows{{"a", "b"}});
  CHECK(rows_of("").empty());
  CHECK(rows_of("a\rb\n") == Rows{{"a\rb"}});
}

TEST_CASE("quotes keep separators, line ends and quotes") {
  CHECK(rows_of("\"a,b\",\"c\nd\r\ne\",\"f\"\"g\"\n") == Rows{{"a,b", "c\nd\r\ne", "f\"g"}});
  CHECK(rows_of("\"\",\"\"") == Rows{{"", ""}});
  CHECK(rows_of("a\"b,c\"\n") == Rows{{"a\"b", "c\""}});
}

TEST_CASE("faults name the line") {
  CHECK(fault_of("a\n\n\"b\nc\",\"d\n").reason == "line 4: a quote opens here and does not end");
  CHECK(fault_of("a\n\n\"b\nc\",\"d\n").offset == 9);
  CHECK(fault_of("a\n\"b\"c\n").reason == "line 2: text follows a closing quote");
  CHECK(fault_of("a\n1,2,3,4,5,6\n").reason == "line 2: more than 5 columns");
  CHECK(fault_of("\xff\xfe"
                 "a")
            .reason == "it is UTF-16; save it as UTF-8");
}

TEST_CASE("a cell has at most 16 MiB") {
  const std::string most(16 << 20, 'a'), quote = "\"";
  CHECK(rows_of("b," + most) == Rows{{"b", most}});
  CHECK(rows_of("b," + quote + most + quote) == Rows{{"b", most}});
  const std::string reason = "line 2: a cell has over 16,777,216 bytes";
  CHECK(fault_of("b\n" + most + "a\nb\n").reason == reason);
  CHECK(fault_of("b\n" + quote + most + "a" + quote).reason == reason);
  CHECK(fault_of("b\n" + quote + most + "\"\"" + quote).reason == reason);
}

TEST_CASE("the line of a row counts the lines inside quotes") {
  CsvReader reader("a\n\"x\ny\"\nz\n", ',', 5);
  CsvRow row;
  REQUIRE(reader.next(row));
  REQUIRE(reader.next(row));
  CHECK(row.line == 2);
  REQUIRE(reader.next(row));
  CHECK(row.line == 4);
}

TEST_CASE("any cells come back when they are written with quotes") {
  Random random({.seed = 4}, 0);
  const std::string letters = "ab,\"\n\r\t;\xff ";
  for (int round = 0; round < 500; ++round) {
    Rows rows(1 + random.below(4));
    std::string text;
    for (std::vector<std::string>& row : rows) {
      row.resize(1 + random.below(4));
      for (std::size_t c = 0; c < row.size(); ++c) {
        for (std::uint64_t n = random.below(6); n > 0; --n)
          row[c] += letters[random.below(letters.size())];
        if (c > 0) text += ',';
        text += '"';
        for (const char letter : row[c]) text += letter == '"' ? "\"\"" : std::string(1, letter);
        text += '"';
      }
      text += random.below(2) != 0 ? "\n" : "\r\n";
    }
    REQUIRE(rows_of(text) == rows);
  }
}

}  // namespace tundish
