#include "data/pack/compare.h"

#include <doctest/doctest.h>

#include "data/pack/test_pack.h"

namespace tundish {

TEST_CASE("datasets that hold the same samples do not differ") {
  const MemorySource source = image_source(20, 12);
  MemorySource other = source;
  SourceDifference found = compare_sources(source, other);
  CHECK(found.is_same());
  CHECK(found.same == 20);
  CHECK(found.same_order);
  std::swap(other.items[2], other.items[7]);
  found = compare_sources(source, other, 3);
  CHECK(found.is_same());
  CHECK_FALSE(found.same_order);
  const FileBytes pack = bytes_of_pack(source);
  CHECK(compare_sources(source, *open_bytes(pack)).is_same());
  CHECK(compare_sources(*open_bytes(pack), *open_bytes(pack)).same == 20);
}

TEST_CASE("a damaged copy of a pack is found, in a record and outside of records") {
  const FileBytes good = bytes_of_pack(image_source(20, 12));
  const auto pack = open_bytes(good);
  FileBytes copy = good;
  const std::uint64_t record = pack->record_offset(7);
  for (int n = 0; n < 3; ++n) copy[record + 70 + static_cast<std::size_t>(n)] ^= std::byte{0x55};
  for (const bool swapped : {false, true}) {
    const auto damaged = open_bytes(copy);
    std::uint64_t last = 0, all = 0;
    const SourceDifference found =
        compare_sources(swapped ? *damaged : *pack, swapped ? *pack : *damaged, 0,
                        [&](std::uint64_t done, std::uint64_t of) { last = done, all = of; });
    CHECK_FALSE(found.is_same());
    CHECK(found.is_damaged());
    CHECK(found.same == 19);
    REQUIRE(found.changed.size() == 1);
    CHECK(found.changed[0].first == 7);
    CHECK(found.changed[0].second == 7);
    CHECK(found.changed[0].unreadable.starts_with("TND-203"));
    CHECK(last == 20);
    CHECK(all == 20);
  }
  copy = good;
  copy[pack->names_block(0).offset + 3] ^= std::byte{1};
  const SourceDifference found = compare_sources(*pack, *open_bytes(copy));
  CHECK(found.changed.empty());
  REQUIRE(found.damage.size() == 1);
  CHECK(found.damage[0].starts_with("TND-107"));
  CHECK(found.is_damaged());
  CHECK_FALSE(found.is_same());
}

TEST_CASE("added, removed and changed samples are found, whichever side can only be scanned") {
  MemorySource first = image_source(10, 12), second = first;
  second.items[8].key = "new";
  second.items[3].fields[0] = second.items[4].fields[0];
  second.items[5].label = 0;
  second.items[6].fails = ErrorCode::io_read;
  second.schema_.classes.push_back("yak");
  for (const bool scan_first : {false, true}) {
    first.by_number = !scan_first;
    second.by_number = scan_first;
    const SourceDifference found = compare_sources(first, second);
    CHECK(found.removed == std::vector<std::uint64_t>{8});
    CHECK(found.added == std::vector<std::uint64_t>{8});
    CHECK(found.classes_added == std::vector<std::string>{"yak"});
    CHECK(found.classes_removed.empty());
    CHECK(found.same == 6);
    REQUIRE(found.changed.size() == 3);
    CHECK(found.changed[0].first == 3);
    CHECK(found.changed[0].fields == std::vector<std::string>{"image"});
    CHECK_FALSE(found.changed[0].label);
    CHECK(found.changed[1].label);
    CHECK(found.changed[1].fields.empty());
    CHECK_FALSE(found.changed[2].unreadable.empty());
  }
  first.by_number = second.by_number = false;
  CHECK_THROWS_AS(compare_sources(first, second), Error);
}

TEST_CASE("samples of the same number are compared, whatever their keys are") {
  MemorySource first = image_source(10, 12), second = first;
  second.items[2].key = "another key";
  second.items[3].fields[0] = second.items[4].fields[0];
  second.items[7].fields[0] = second.items[4].fields[0];
  for (const bool scan_first : {false, true}) {
    first.by_number = !scan_first;
    const SourceDifference found = compare_by_number(first, second, {5, 3, 2, 3});
    CHECK(found.same == 2);
    REQUIRE(found.changed.size() == 1);
    CHECK(found.changed[0].first == 3);
    CHECK(found.changed[0].fields == std::vector<std::string>{"image"});
  }
  CHECK(compare_by_number(first, second, {}).is_same());
  CHECK_THROWS_AS(compare_by_number(first, second, {10}), Error);
}

TEST_CASE("labels are compared by the names of their classes") {
  const MemorySource first = image_source(6, 12);
  MemorySource second = first;
  second.schema_.classes = {"emu", "dog", "cat"};
  for (auto& item : second.items) item.label = 2 - item.label;
  CHECK(compare_sources(first, second).is_same());
}

TEST_CASE("fields that only one has are named, and the others are compared") {
  const MemorySource first = image_source(4, 12);
  MemorySource second = first;
  second.schema_.fields.insert(second.schema_.fields.begin(), {"camera", FieldType::text});
  for (auto& item : second.items) item.fields.insert(item.fields.begin(), bytes_of("left"));
  const SourceDifference found = compare_sources(first, second);
  CHECK(found.fields == std::vector<std::string>{"only the second has field camera (text)"});
  CHECK(found.same == 4);
  CHECK_FALSE(found.is_same());
}

TEST_CASE("labels of two classes with equal names differ") {
  MemorySource source = image_source(2, 12);
  source.schema_.classes = {"crane", "x", "crane"};
  MemorySource other = source;
  source.items[0].label = other.items[1].label = 0;
  source.items[1].label = other.items[0].label = 2;
  const SourceDifference found = compare_sources(source, other);
  REQUIRE(found.changed.size() == 2);
  CHECK(found.changed[0].label);
  CHECK(compare_sources(source, source).is_same());
}

}  // namespace tundish
