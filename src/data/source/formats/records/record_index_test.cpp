#include "data/source/formats/records/record_index.h"

#include <doctest/doctest.h>

namespace tundish {
namespace {

RecordIndex example(bool names) {
  RecordIndex index;
  index.add(12, 30, 5, 40);
  index.add(50, std::uint64_t{1} << 40, -1, 0);
  index.add(90, 10, 7, 20);
  index.note = "v3";
  for (const char* name : {"a", "b", "a/b"}) {
    if (names) index.names.add(name);
  }
  return index;
}

}  // namespace

TEST_CASE("record index: comes back as it was") {
  for (const bool names : {false, true}) {
    const RecordIndex index = example(names);
    const auto back = decode_record_index(encode_record_index("abc", index), "abc", 100);
    REQUIRE(back);
    CHECK(back->offsets == index.offsets);
    CHECK(back->lengths == std::vector<std::uint32_t>{30, RecordIndex::kTooLong, 10});
    CHECK(back->labels == index.labels);
    CHECK(back->bytes == index.bytes);
    CHECK(back->note == "v3");
    REQUIRE(back->names.size() == index.names.size());
    if (names) CHECK(back->names[2] == "a/b");
  }
}

TEST_CASE("record index: other settings, places outside the file and cut off bytes are refused") {
  const auto bytes = encode_record_index("abc", example(true));
  CHECK_FALSE(decode_record_index(bytes, "abd", 100));
  CHECK_FALSE(decode_record_index(bytes, "abc", 99));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    CHECK_FALSE(decode_record_index(Bytes(bytes).first(size), "abc", 100));
  }
  RecordIndex outside;
  outside.add(0, 1, -1, 1);
  outside.names.add("../a");
  CHECK_FALSE(decode_record_index(encode_record_index("abc", outside), "abc", 100));
}

}  // namespace tundish
