// One array in chunks, read sample by sample. Any thread; the most recent chunks are kept, so that
// samples of one chunk do not decompress it again.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "source/chunks/chunk_grid.h"
#include "source/chunks/chunk_steps.h"

namespace tundish {

// Where the chunks come from. Any thread.
class ChunkLoader {
 public:
  virtual ~ChunkLoader() = default;
  // The chunk at these chunk coordinates, decompressed; without bytes when there is none. Its shape
  // has every side set, and its bytes are as many as the shape says. Throws Error.
  virtual void load(Chunk& out, std::span<const std::uint64_t> at) const = 0;
};

class ChunkedArray {
 public:
  // `grid` has passed check_grid().
  ChunkedArray(ChunkGrid grid, std::unique_ptr<const ChunkLoader> loader,
               std::uint64_t cache_bytes = kCacheBytes);

  const ChunkGrid& grid() const { return grid_; }

  // Sample i along this axis, for which sample_type() gave no fault. Throws Error.
  void read_sample(std::vector<std::byte>& out, std::size_t axis, std::uint64_t i) const;

  // What is kept in memory at most: cache_bytes, or one chunk where that is more.
  std::uint64_t memory() const;

  static constexpr std::uint64_t kCacheBytes = 64u << 20;

 private:
  struct Entry {
    std::mutex mutex;  // held while the chunk is loaded: a second thread waits and then has it
    bool loaded = false;
    Chunk chunk;
  };
  using Recent = std::list<std::pair<std::uint64_t, std::shared_ptr<Entry>>>;  // newest first

  std::shared_ptr<const Entry> chunk_at(std::span<const std::uint64_t> at) const;
  std::shared_ptr<Entry> entry_of(std::uint64_t number) const;

  const ChunkGrid grid_;
  const std::unique_ptr<const ChunkLoader> loader_;
  const std::vector<std::uint64_t> counts_;
  const std::size_t kept_chunks_;

  mutable std::mutex mutex_;  // guards what follows
  mutable Recent recent_;
  mutable std::unordered_map<std::uint64_t, Recent::iterator> places_;
};

}  // namespace tundish
