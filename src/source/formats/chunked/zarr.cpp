#include "source/formats/chunked/zarr.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <mutex>
#include <set>

#include "core/crc32c.h"
#include "core/file.h"
#include "source/chunks/chunked_array.h"
#include "source/format.h"
#include "source/formats/chunked/array_folder.h"
#include "source/formats/chunked/array_json.h"
#include "source/formats/chunked/chunked_array_source.h"
#include "source/formats/chunked/zarr_metadata.h"
#include "source/names.h"

namespace tundish {
namespace {

constexpr const char* kName = "Zarr";

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
    path = join_path(folder_, zarr_key(array_, at));
    return read_if_exists(out, path, most(), kName);
  }

  bool read_from_shard(std::vector<std::byte>& out, std::string& path,
                       std::span<const std::uint64_t> at) const {
    std::vector<std::uint64_t> shard;
    std::uint64_t number = 0, chunks = 1;  // of the chunk in the shard; of all chunks there
    for (std::size_t a = 0; a < at.size(); ++a) {
      const std::uint64_t count = array_.shards->chunks[a];
      shard.push_back(at[a] / count);
      number = number * count + at[a] % count;
      chunks *= count;
    }
    path = join_path(folder_, zarr_key(array_, shard));
    File file;
    try {
      file = File::open(path);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::source_missing) return false;
      throw;
    }
    const std::uint64_t size = file.size();
    const std::uint64_t table = 16 * chunks + (array_.shards->table_has_checksum ? 4 : 0);
    if (size < table) fail(path, "the shard is shorter than its table", size);
    const std::uint64_t table_at = array_.shards->table_at_end ? size - table : 0;
    if (array_.shards->table_has_checksum) check_table(file, shard, table_at, table - 4);
    std::byte entry[16];
    if (file.read_at(entry, table_at + 16 * number) != sizeof entry) {
      fail(path, "the shard became shorter", table_at);
    }
    const auto offset = tundish::load<std::uint64_t>(entry);
    const auto bytes = tundish::load<std::uint64_t>(entry + 8);
    constexpr std::uint64_t kMissing = std::numeric_limits<std::uint64_t>::max();
    if (offset == kMissing && bytes == kMissing) return false;
    if (bytes > most() || bytes > size || offset > size - bytes) {
      fail(path, "a chunk leads out of the shard", table_at + 16 * number);
    }
    out.resize(bytes);
    if (file.read_at(out, offset) != bytes) fail(path, "the shard became shorter", offset);
    return true;
  }

  // Once per shard, in small pieces: a table may have 256 MiB.
  void check_table(const File& file, const std::vector<std::uint64_t>& shard, std::uint64_t at,
                   std::uint64_t bytes) const {
    {
      const std::scoped_lock lock(mutex_);
      if (checked_.contains(shard)) return;
    }
    std::vector<std::byte> piece(static_cast<std::size_t>(std::min<std::uint64_t>(bytes, 1 << 16)));
    std::uint32_t sum = 0;
    for (std::uint64_t done = 0; done < bytes; done += piece.size()) {
      piece.resize(static_cast<std::size_t>(std::min<std::uint64_t>(bytes - done, piece.size())));
      if (file.read_at(piece, at + done) != piece.size()) {
        fail(file.path(), "the shard became shorter", at);
      }
      sum = crc32c(piece, sum);
    }
    std::byte stored[4];
    if (file.read_at(stored, at + bytes) != sizeof stored) {
      fail(file.path(), "the shard became shorter", at);
    }
    if (tundish::load<std::uint32_t>(stored) != sum) {
      fail(file.path(), "the checksum of the shard's table is wrong", at);
    }
    const std::scoped_lock lock(mutex_);
    checked_.insert(shard);
  }

  [[noreturn]] static void fail(const std::string& path, const char* reason, std::uint64_t offset) {
    throw Error(damaged_source(kName, reason, offset), {.file = path});
  }

  std::string folder_;
  ZarrArray array_;
  mutable std::mutex mutex_;
  mutable std::set<std::vector<std::uint64_t>> checked_;  // shards whose tables are good
};

// True when the folder is an array, which `out` then describes.
bool read_metadata(ZarrArray& out, const std::string& folder) {
  std::vector<std::byte> text;
  std::optional<Fault> fault;
  bool is_array = true;
  std::string file = join_path(folder, ".zarray");
  if (read_if_exists(text, file, kMaxArrayJson, kName)) {
    fault = read_zarr_2(out, text);
  } else {
    file = join_path(folder, "zarr.json");
    if (!read_if_exists(text, file, kMaxArrayJson, kName)) return false;
    fault = read_zarr_3(out, is_array, text);
  }
  if (fault) throw Error(*fault, {.file = file});
  return is_array;
}

}  // namespace

std::shared_ptr<const Source> open_zarr(const std::string& path, const SourceOptions& options) {
  std::vector<NamedArray> arrays;
  walk_arrays(path, [&](const std::string& folder, const std::string& name) {
    ZarrArray array;
    if (!read_metadata(array, folder)) return false;
    const ChunkGrid grid = array.grid;
    arrays.push_back({name.empty() ? own_name(path) : name,
                      std::make_shared<ChunkedArray>(
                          grid, std::make_unique<ZarrLoader>(folder, std::move(array)))});
    return true;
  });
  return open_chunked_arrays("zarr", path, std::move(arrays), options);
}

}  // namespace tundish
