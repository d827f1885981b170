#include "cli/text.h"

#include <doctest/doctest.h>

namespace tundish::cli {

TEST_CASE("bytes are printed in decimal units with one digit after the point") {
  CHECK(bytes_text(0) == "0 bytes");
  CHECK(bytes_text(1) == "1 byte");
  CHECK(bytes_text(999) == "999 bytes");
  CHECK(bytes_text(1000) == "1.0 KB");
  CHECK(bytes_text(999'949) == "999.9 KB");
  CHECK(bytes_text(999'960) == "1.0 MB");
  CHECK(bytes_text(140.2e9) == "140.2 GB");
}

TEST_CASE("durations are printed in seconds, from a minute on as a clock does") {
  CHECK(duration_text(0.04) == "0.0 s");
  CHECK(duration_text(9.96) == "10 s");
  CHECK(duration_text(59.6) == "1:00");
  CHECK(duration_text(161) == "2:41");
  CHECK(duration_text(3723) == "1:02:03");
  CHECK(duration_text(-1) == "?");
  CHECK(duration_text(1e300) == "?");
}

TEST_CASE("a misspelt word finds the intended word") {
  const std::vector<std::string> verbs = {"pack", "unpack", "info", "ls", "cat", "verify", "bench"};
  CHECK(did_you_mean("pakc", verbs) == "pack");
  CHECK(did_you_mean("verfiy", verbs) == "verify");
  CHECK(did_you_mean("inf", verbs) == "info");
  CHECK(did_you_mean("ver", verbs) == "verify");
  CHECK(did_you_mean("l", verbs) == "ls");
  CHECK(did_you_mean("salvage", verbs).empty());
  CHECK(did_you_mean("", verbs).empty());
}

TEST_CASE("two swapped letters count as one error") {
  CHECK(edit_distance("pakc", "pack") == 1);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);
}

TEST_CASE("words with spaces and quotes are shown as they must be typed") {
  CHECK(quoted_for_shell("train.tnd") == "train.tnd");
  CHECK(quoted_for_shell("my photos") == "'my photos'");
  CHECK(quoted_for_shell("it's") == "'it'\\''s'");
  CHECK(quoted_for_shell("") == "''");
}

}  // namespace tundish::cli
