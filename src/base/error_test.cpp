#include "base/error.h"

#include <doctest/doctest.h>

#include <set>

namespace tundish {

TEST_CASE("a message has the title, the place, the reason and the fix") {
  const Error error(
      ErrorCode::record_checksum,
      {.file = "train.tnd", .record = 81233, .key = "dog/a.jpg", .offset = 9663676416},
      "stored 9a1c77e0, read 0b52d1c4");
  CHECK(std::string(error.what()) ==
        "TND-203 train.tnd: record 81,233 (dog/a.jpg) fails its checksum at byte 9,663,676,416\n"
        "  why: stored 9a1c77e0, read 0b52d1c4\n"
        "  fix: tundish verify train.tnd lists every damaged record; Loader(..., "
        "on_error=\"skip\") trains without it");
}

TEST_CASE("a file whose name looks like the placeholder of a remedy is named as it is") {
  const Error error(ErrorCode::no_such_record, {.file = "{file}/{file}.tnd", .record = 99}, "");
  CHECK(std::string(error.what()) ==
        "TND-201 {file}/{file}.tnd: record 99 has no such record\n"
        "  fix: tundish info {file}/{file}.tnd prints the number of records");
  const Error nameless(ErrorCode::no_such_record, {}, "");
  CHECK(std::string(nameless.what()) ==
        "TND-201 has no such record\n  fix: tundish info FILE prints the number of records");
}

TEST_CASE("the offset of a fault is added to the offset of its bytes") {
  const Error error(Fault{ErrorCode::image_damaged, "x", 10}, {.file = "f", .offset = 100});
  CHECK(*error.where().offset == 110);
}

TEST_CASE("every code is in the table once, with all its texts") {
  std::set<int> seen;
  for (const ErrorEntry& entry : error_table()) {
    CHECK(seen.insert(static_cast<int>(entry.code)).second);
    CHECK(std::string(entry.title).size() > 3);
    CHECK(std::string(entry.explanation).size() > 10);
    CHECK(std::string(entry.remedy).size() > 3);
  }
}

TEST_CASE("names are shown as readable text whatever bytes they hold") {
  CHECK(printable("a b.jpg") == "a b.jpg");
  CHECK(printable("\xc3\xa4") == "\xc3\xa4");
  CHECK(printable("a\nb") == "a\\x0ab");
  CHECK(printable("\xff\xc3") == "\\xff\\xc3");
  CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");
}

TEST_CASE("numbers are grouped by thousands") {
  CHECK(with_commas(0) == "0");
  CHECK(with_commas(999) == "999");
  CHECK(with_commas(1000) == "1,000");
  CHECK(with_commas(12345678) == "12,345,678");
}

}  // namespace tundish
