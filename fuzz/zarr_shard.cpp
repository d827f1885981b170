// Any bytes as a shard of Zarr 3: every chunk in its table is within the shard, or a fault.
// Runs twice: with the bytes as they are, and with the table's correct checksum.
// parser: src/data/source/formats/chunked/zarr_shard.*
#include "data/source/formats/chunked/zarr_shard.h"

#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/crc32c.h"
#include "memory_meter.h"

namespace {

using namespace tundish;

constexpr std::uint64_t kMax = 4096;

void require(bool claim) {
  if (!claim) std::abort();
}

// Number of readable chunks in the table, and their total bytes.
struct Found {
  bool table_good = false;
  std::uint64_t chunks = 0, bytes = 0;
};

Found try_shard(const ZarrShards& shards, Bytes shard) {
  const ReadShard read = [&](std::span<std::byte> out, std::uint64_t offset) {
    if (offset > shard.size() || out.size() > shard.size() - offset) return false;
    std::memcpy(out.data(), shard.data() + offset, out.size());
    return true;
  };
  Found found;
  ShardTable table;
  if (find_shard_table(table, shards, shard.size())) return found;
  require(16 * table.chunks <= shard.size() - table.offset);
  if (shards.table_has_checksum && check_shard_table(table, read)) return found;
  found.table_good = true;
  for (std::uint64_t i = 0; i < table.chunks; ++i) {
    ShardEntry entry;
    if (find_in_shard(entry, table, i, kMax, read) || entry.missing) continue;
    require(entry.bytes <= kMax && entry.bytes <= shard.size());
    require(entry.offset <= shard.size() - entry.bytes);
    ++found.chunks;
    found.bytes += entry.bytes;
  }
  ShardEntry behind;
  const std::uint64_t far = shard.size() / 16 + 1;  // beyond the end of any table
  require(find_in_shard(behind, table, far, kMax, read).has_value());
  return found;
}

}  // namespace

// Two bytes hold the number of chunks along two axes, one byte the table options; then the shard.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const MemoryMeter meter(4 * size + (1 << 18));
  ZarrShards shards{.chunks = {std::uint64_t{data[0]} + 1, std::uint64_t{data[1]} + 1},
                    .table_at_end = (data[2] & 1) != 0,
                    .table_has_checksum = (data[2] & 2) != 0};
  if (data[2] & 4) shards.chunks.push_back(std::uint64_t{1} << (data[2] >> 2));  // overflows
  const Bytes shard(reinterpret_cast<const std::byte*>(data) + 3, size - 3);
  try_shard(shards, shard);
  ShardTable table;
  if (!shards.table_has_checksum || find_shard_table(table, shards, shard.size())) return 0;
  std::vector<std::byte> mended(shard.begin(), shard.end());
  const Bytes entries = Bytes(mended).subspan(table.offset, 16 * table.chunks);
  store<std::uint32_t>(&mended[table.offset + entries.size()], crc32c(entries));
  require(try_shard(shards, mended).table_good);
  return 0;
}
