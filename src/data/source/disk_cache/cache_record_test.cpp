#include "data/source/disk_cache/cache_record.h"

#include <doctest/doctest.h>

#include "base/testing.h"
#include "data/source/memory_source.h"

namespace tundish {
namespace {

constexpr CacheId kId{1, 2};

Sample sample_of(Random& random, std::size_t fields) {
  Sample out;
  for (std::size_t f = 0; f < fields; ++f) {
    out.fields.push_back(random_bytes(random.below(50), random));
  }
  return out;
}

}  // namespace

TEST_CASE("a record of the disk cache gives back the fields that were put in") {
  Random random({.seed = test_seed()}, 0);
  for (int round = 0; round < 300; ++round) {
    const std::size_t count = 1 + random.below(5);
    const Sample sample = sample_of(random, count);
    const FieldSet kept = random.below(1u << count), wanted = random.below(1u << count);
    std::vector<std::byte> record;
    make_record(record, kId, 7, kept, sample);
    CHECK(is_intact(record, kId));
    Sample out;
    REQUIRE(unpack_record(out, record, kId, 7, wanted, count) == ((wanted & ~kept) == 0));
    if ((wanted & ~kept) != 0) continue;
    for (std::size_t f = 0; f < count; ++f) {
      const std::vector<std::byte> none;
      CHECK(out.fields[f] == ((wanted >> f & 1) != 0 ? sample.fields[f] : none));
    }
    CHECK_FALSE(unpack_record(out, record, kId, 8, wanted, count));
    CHECK_FALSE(unpack_record(out, record, CacheId{1, 3}, 7, wanted, count));
    record[random.below(record.size())] ^= std::byte{4};
    CHECK_FALSE(unpack_record(out, record, kId, 7, wanted, count));
    record.resize(random.below(record.size()));
    CHECK_FALSE(unpack_record(out, record, kId, 7, wanted, count));
  }
}

TEST_CASE("an index of the disk cache gives back its places, or is refused") {
  Random random({.seed = test_seed()}, 0);
  for (int round = 0; round < 300; ++round) {
    std::vector<RecordPlace> places;
    std::uint64_t end = kCacheHead;
    for (std::uint64_t n = random.below(6); n > 0; --n) {
      places.push_back({random.below(10), end, kRecordHead + random.below(100)});
      end += places.back().bytes;
    }
    std::vector<std::byte> index = make_index(places, kId);
    const std::uint64_t size = end + index.size();
    std::vector<RecordPlace> out;
    CHECK(index_bytes(Bytes(index).last(kIndexFoot), size) == index.size());
    REQUIRE(read_index(out, index, size, 10, kId));
    CHECK(out == places);
    const bool above = !places.empty() && places.front().sample > 0;
    if (above) CHECK_FALSE(read_index(out, index, size, places.front().sample, kId));
    if (!places.empty()) CHECK_FALSE(read_index(out, index, size - 1, 10, kId));
    CHECK_FALSE(read_index(out, index, size, 10, CacheId{2, 2}));
    index[random.below(index.size())] ^= std::byte{1};
    CHECK_FALSE(read_index(out, index, size, 10, kId));
  }
}

TEST_CASE("a foot that lies about its index is refused before memory is taken") {
  std::vector<std::byte> foot = make_index({}, kId);
  store(foot.data() + 8, std::uint64_t{1} << 60);
  CHECK(index_bytes(foot, 1 << 30) == 0);
  store(foot.data() + 8, std::uint64_t{100});
  CHECK(index_bytes(foot, 1000) == 0);
  CHECK(index_bytes(foot, kMaxCacheFile + 1) == 0);
}

}  // namespace tundish
