// Metadata of an array, from .zarray (version 2) or zarr.json (version 3). Accepts any bytes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/source/chunks/chunk_grid.h"
#include "data/source/chunks/chunk_steps.h"

namespace tundish {

// Version 3: a file holds several chunks and a table of (offset, bytes), 64 bits each.
struct ZarrShards {
  std::vector<std::uint64_t> chunks;  // chunks per shard along every axis
  bool table_at_end = true;
  bool table_has_checksum = false;
};

struct ZarrArray {
  ChunkGrid grid;  // checked
  std::vector<ChunkStep> steps;
  std::string key_prefix;  // "c" in version 3
  char separator = '.';
  std::optional<ZarrShards> shards;
};

std::optional<Fault> read_zarr_2(ZarrArray& out, Bytes json);
// Sets `is_array` to false for a group.
std::optional<Fault> read_zarr_3(ZarrArray& out, bool& is_array, Bytes json);

// Returns the file of a chunk or shard, relative to the array's folder.
std::string zarr_key(const ZarrArray& array, std::span<const std::uint64_t> at);

}  // namespace tundish
