// The table of a Zarr shard (version 3, sharding_indexed) with the places of its chunks. Any bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "base/error.h"
#include "data/source/formats/chunked/zarr_metadata.h"

namespace tundish {

// Reads exactly out.size() bytes of a shard; false if the shard ends before.
using ReadShard = std::function<bool(std::span<std::byte> out, std::uint64_t offset)>;

struct ShardTable {
  std::uint64_t shard_bytes = 0;
  std::uint64_t chunks = 0;
  std::uint64_t offset = 0;  // offset of the first entry in the shard
};

struct ShardEntry {
  bool missing = false;  // true: the chunk has the fill value
  std::uint64_t offset = 0, bytes = 0;
};

// All functions below report faults as source_damaged.
std::optional<Fault> find_shard_table(ShardTable& out, const ZarrShards& shards,
                                      std::uint64_t shard_bytes);

// Checks the crc32c behind the table, in small pieces: a table may have 256 MiB.
std::optional<Fault> check_shard_table(const ShardTable& table, const ReadShard& read);

// Finds chunk `number` in the shard; a chunk of over `most` bytes is a fault.
std::optional<Fault> find_in_shard(ShardEntry& out, const ShardTable& table, std::uint64_t number,
                                   std::uint64_t most, const ReadShard& read);

}  // namespace tundish
