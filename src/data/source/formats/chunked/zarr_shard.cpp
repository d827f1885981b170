#include "data/source/formats/chunked/zarr_shard.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "base/crc32c.h"
#include "data/source/format.h"

namespace tundish {
namespace {

constexpr std::uint64_t kEntry = 16;  // offset and length
constexpr std::uint64_t kChecksum = 4;

Fault damaged(const char* reason, std::uint64_t offset) {
  return damaged_source("Zarr", reason, offset);
}

}  // namespace

std::optional<Fault> find_shard_table(ShardTable& out, const ZarrShards& shards,
                                      std::uint64_t shard_bytes) {
  const std::uint64_t checksum = shards.table_has_checksum ? kChecksum : 0;
  out = {.shard_bytes = shard_bytes, .chunks = 1, .offset = 0};
  for (const std::uint64_t count : shards.chunks) {
    // More entries than a shard has bytes: such a table does not fit.
    if (count == 0 || out.chunks > shard_bytes / count) out.chunks = shard_bytes + 1;
    if (out.chunks <= shard_bytes) out.chunks *= count;
  }
  if (shard_bytes < checksum || out.chunks > (shard_bytes - checksum) / kEntry) {
    return damaged("the shard is shorter than its table", shard_bytes);
  }
  if (shards.table_at_end) out.offset = shard_bytes - kEntry * out.chunks - checksum;
  return std::nullopt;
}

std::optional<Fault> check_shard_table(const ShardTable& table, const ReadShard& read) {
  const std::uint64_t bytes = kEntry * table.chunks;
  constexpr std::uint64_t kPiece = 1 << 16;
  std::vector<std::byte> piece(static_cast<std::size_t>(std::min(bytes, kPiece)));
  std::uint32_t sum = 0;
  for (std::uint64_t done = 0; done < bytes; done += piece.size()) {
    piece.resize(static_cast<std::size_t>(std::min<std::uint64_t>(bytes - done, piece.size())));
    if (!read(piece, table.offset + done)) return damaged("the shard became shorter", table.offset);
    sum = crc32c(piece, sum);
  }
  std::byte stored[kChecksum];
  if (!read(stored, table.offset + bytes)) return damaged("the shard became shorter", table.offset);
  if (load<std::uint32_t>(stored) == sum) return std::nullopt;
  return damaged("the checksum of the shard's table is wrong", table.offset);
}

std::optional<Fault> find_in_shard(ShardEntry& out, const ShardTable& table, std::uint64_t number,
                                   std::uint64_t most, const ReadShard& read) {
  std::byte entry[kEntry];
  const std::uint64_t at = table.offset + kEntry * number;
  if (!read(entry, at)) return damaged("the shard became shorter", table.offset);
  out = {.missing = false,
         .offset = load<std::uint64_t>(entry),
         .bytes = load<std::uint64_t>(entry + 8)};
  constexpr std::uint64_t kMissing = std::numeric_limits<std::uint64_t>::max();
  out.missing = out.offset == kMissing && out.bytes == kMissing;
  if (out.missing) return std::nullopt;
  const std::uint64_t size = table.shard_bytes;
  if (out.bytes <= most && out.bytes <= size && out.offset <= size - out.bytes) return std::nullopt;
  return damaged("a chunk leads out of the shard", at);
}

}  // namespace tundish
