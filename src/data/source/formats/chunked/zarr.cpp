#include "data/source/formats/chunked/zarr.h"

#include <fmt/format.h>

#include <array>
#include <mutex>
#include <set>

#include "data/source/chunks/chunked_array.h"
#include "data/source/format.h"
#include "data/source/formats/chunked/array_folder.h"
#include "data/source/formats/chunked/array_json.h"
#include "data/source/formats/chunked/chunked_array_source.h"
#include "data/source/formats/chunked/zarr_metadata.h"
#include "data/source/formats/chunked/zarr_shard.h"
#include "data/source/names.h"

namespace tundish {
namespace {

constexpr const char* kName = "Zarr";
constexpr std::array kMetadata = {".zarray", ".zgroup", "zarr.json"};

class ZarrLoader : public ChunkLoader {
 public:
  ZarrLoader(std::string folder, ZarrArray array)
      : folder_(std::move(folder)), array_(std::move(array)) {}

  void load(Chunk& out, std::span<const std::uint64_t> at) const override {
    out = {};
    std::vector<std::byte> stored;
    std::string path;
    const bool found =
        array_.shards ? read_from_shard(stored, path, at) : read_alone(stored, path, at);
    if (!found) return;
    out.shape = array_.grid.chunk;
    out.bytes.resize(chunk_bytes(array_.grid));
    auto fault = undo_steps(out.bytes, stored, array_.steps);
    if (!fault) return;
    out = {};
    fault->reason = fmt::format("{}: {}", kName, fault->reason);
    throw Error(*fault, {.file = path});
  }

 private:
  std::uint64_t most() const { return 2 * chunk_bytes(array_.grid) + (1 << 20); }

  bool read_alone(std::vector<std::byte>& out, std::string& path,
                  std::span<const std::uint64_t> at) const {
    const std::string key = zarr_key(array_, at);
    path = join_path(folder_, key);
    return read_if_exists(out, folder_, key, most(), kName);
  }

  bool read_from_shard(std::vector<std::byte>& out, std::string& path,
                       std::span<const std::uint64_t> at) const {
    std::vector<std::uint64_t> shard;
    std::uint64_t number = 0;  // index of the chunk in the shard
    for (std::size_t a = 0; a < at.size(); ++a) {
      const std::uint64_t count = array_.shards->chunks[a];
      shard.push_back(at[a] / count);
      number = number * count + at[a] % count;
    }
    const std::string key = zarr_key(array_, shard);
    path = join_path(folder_, key);
    File file;
    try {
      file = open_in_array(folder_, key);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::source_missing) return false;
      throw;
    }
    const ReadShard read = [&](std::span<std::byte> bytes, std::uint64_t offset) {
      return file.read_at(bytes, offset) == bytes.size();
    };
    ShardTable table;
    ShardEntry entry;
    auto fault = find_shard_table(table, *array_.shards, file.size());
    if (!fault && array_.shards->table_has_checksum) fault = check_once(table, shard, read);
    if (!fault) fault = find_in_shard(entry, table, number, most(), read);
    if (fault) throw Error(*fault, {.file = path});
    if (entry.missing) return false;
    out.resize(entry.bytes);
    if (read(out, entry.offset)) return true;
    throw Error(damaged_source(kName, "the shard became shorter", entry.offset), {.file = path});
  }

  // Checks the table of a shard at its first use.
  std::optional<Fault> check_once(const ShardTable& table, const std::vector<std::uint64_t>& shard,
                                  const ReadShard& read) const {
    {
      const std::scoped_lock lock(mutex_);
      if (checked_.contains(shard)) return std::nullopt;
    }
    if (auto fault = check_shard_table(table, read)) return fault;
    const std::scoped_lock lock(mutex_);
    checked_.insert(shard);
    return std::nullopt;
  }

  std::string folder_;
  ZarrArray array_;
  mutable std::mutex mutex_;
  mutable std::set<std::vector<std::uint64_t>> checked_;  // shards with verified tables
};

// Returns true if the folder is an array, and describes the array in `out`.
bool read_metadata(ZarrArray& out, const std::string& folder) {
  std::vector<std::byte> text;
  std::optional<Fault> fault;
  bool is_array = true;
  std::string file = "zarr.json";  // first, as in zarr: a conversion keeps the files of version 2
  if (read_if_exists(text, folder, file, kMaxArrayJson, kName)) {
    fault = read_zarr_3(out, is_array, text);
  } else {
    file = ".zarray";
    if (!read_if_exists(text, folder, file, kMaxArrayJson, kName)) return false;
    fault = read_zarr_2(out, text);
  }
  if (fault) throw Error(*fault, {.file = join_path(folder, file)});
  return is_array;
}

}  // namespace

std::shared_ptr<const Source> open_zarr(const std::string& path, const SourceOptions& options) {
  std::vector<NamedArray> arrays;
  std::vector<std::string> lost_arrays;
  walk_arrays(path, [&](const std::string& folder, const std::string& name) {
    ZarrArray array;
    if (!read_metadata(array, folder)) {
      const bool lost = !name.empty() && has_chunks_alone(folder, kMetadata);
      if (lost) lost_arrays.push_back(name);
      return lost;
    }
    const ChunkGrid grid = array.grid;
    arrays.push_back({.name = name.empty() ? own_name(path) : name,
                      .array = std::make_shared<ChunkedArray>(
                          grid, std::make_unique<ZarrLoader>(folder, std::move(array))),
                      .max_missing_chunks = kMaxMissingChunks});
    return true;
  });
  limit_samples(arrays, path);
  return open_chunked_arrays("zarr", path, std::move(arrays), options,
                             warnings_of_lost(lost_arrays, ".zarray or zarr.json"));
}

}  // namespace tundish
