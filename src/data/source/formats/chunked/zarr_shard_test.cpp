#include "data/source/formats/chunked/zarr_shard.h"

#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/crc32c.h"

namespace tundish {
namespace {

constexpr std::uint64_t kNone = ~std::uint64_t{0};

std::vector<std::byte> table_of(
    const std::vector<std::pair<std::uint64_t, std::uint64_t>>& entries) {
  std::vector<std::byte> out(16 * entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    store<std::uint64_t>(&out[16 * i], entries[i].first);
    store<std::uint64_t>(&out[16 * i + 8], entries[i].second);
  }
  return out;
}

ReadShard reader_of(const std::vector<std::byte>& shard) {
  return [&shard](std::span<std::byte> out, std::uint64_t offset) {
    if (offset > shard.size() || out.size() > shard.size() - offset) return false;
    std::memcpy(out.data(), shard.data() + offset, out.size());
    return true;
  };
}

}  // namespace

TEST_CASE("zarr shard: chunks of a table at either end") {
  for (const bool at_end : {false, true}) {
    const std::uint64_t begin = at_end ? 0 : 64;
    const auto table = table_of({{begin, 3}, {kNone, kNone}, {begin + 3, 5}, {begin + 8, 0}});
    std::vector<std::byte> shard(8, std::byte{7});
    shard.insert(at_end ? shard.end() : shard.begin(), table.begin(), table.end());
    const ReadShard read = reader_of(shard);
    ShardTable found;
    const ZarrShards shards{.chunks = {2, 2}, .table_at_end = at_end};
    REQUIRE_FALSE(find_shard_table(found, shards, shard.size()));
    CHECK(found.offset == (at_end ? 8 : 0));
    ShardEntry entry;
    REQUIRE_FALSE(find_in_shard(entry, found, 0, 5, read));
    CHECK((!entry.missing && entry.offset == begin && entry.bytes == 3));
    REQUIRE_FALSE(find_in_shard(entry, found, 1, 5, read));
    CHECK(entry.missing);
    REQUIRE_FALSE(find_in_shard(entry, found, 2, 5, read));
    CHECK(find_in_shard(entry, found, 2, 4, read)->reason ==
          "Zarr: a chunk leads out of the shard");
    REQUIRE_FALSE(find_in_shard(entry, found, 3, 5, read));
  }
}

TEST_CASE("zarr shard: entries that lead out, tables that do not fit") {
  const auto shard = table_of({{kNone - 3, 8}, {8, kNone}, {30, 3}, {kNone, 0}});
  const ReadShard read = reader_of(shard);
  ShardTable table;
  const ZarrShards shards{.chunks = {4}};
  REQUIRE_FALSE(find_shard_table(table, shards, shard.size()));
  ShardEntry entry;
  CHECK(find_in_shard(entry, table, 0, 100, read));
  CHECK(find_in_shard(entry, table, 1, 100, read));
  CHECK_FALSE(find_in_shard(entry, table, 2, 100, read));
  CHECK(find_in_shard(entry, table, 3, 100, read));
  CHECK(find_in_shard(entry, table, 4, 100, read)->reason == "Zarr: the shard became shorter");
  const char* reason = "Zarr: the shard is shorter than its table";
  for (const std::vector<std::uint64_t>& chunks :
       {std::vector<std::uint64_t>{5}, {1ull << 60, 1ull << 60}, {1ull << 32, 1ull << 32}, {0}}) {
    CHECK(find_shard_table(table, {.chunks = chunks}, shard.size())->reason == reason);
  }
  CHECK(find_shard_table(table, {.chunks = {1}, .table_has_checksum = true}, 3)->reason == reason);
  CHECK(find_shard_table(table, {.chunks = {4}, .table_has_checksum = true}, 64)->reason == reason);
}

TEST_CASE("zarr shard: the checksum of a table of several pieces") {
  auto shard = table_of(std::vector<std::pair<std::uint64_t, std::uint64_t>>(10'000, {1, 2}));
  const std::size_t bytes = shard.size();
  shard.resize(bytes + 4);
  store<std::uint32_t>(&shard[bytes], crc32c_reference(Bytes(shard).first(bytes)));
  ShardTable table;
  const ZarrShards shards{.chunks = {100, 100}, .table_has_checksum = true};
  REQUIRE_FALSE(find_shard_table(table, shards, shard.size()));
  CHECK_FALSE(check_shard_table(table, reader_of(shard)));
  for (const std::size_t at : {std::size_t{0}, std::size_t{1 << 16}, bytes - 1, bytes}) {
    shard[at] ^= std::byte{1};
    CHECK(check_shard_table(table, reader_of(shard))->reason ==
          "Zarr: the checksum of the shard's table is wrong");
    shard[at] ^= std::byte{1};
  }
}

}  // namespace tundish
