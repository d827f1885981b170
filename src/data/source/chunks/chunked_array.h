// One array in chunks, read sample by sample. Any thread; chunks are kept, so that samples of one
// chunk do not decompress it again. A chunk of which every sample was read is needed last: an epoch
// has each sample once, in whatever order.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "data/source/chunks/chunk_grid.h"
#include "data/source/chunks/chunk_memory.h"
#include "data/source/chunks/chunk_steps.h"

namespace tundish {

// Where the chunks come from. Any thread.
class ChunkLoader {
 public:
  virtual ~ChunkLoader() = default;
  // The chunk at these chunk coordinates, decompressed; without bytes when there is none. Its shape
  // has every side set, and its bytes are as many as the shape says. Throws Error.
  virtual void load(Chunk& out, std::span<const std::uint64_t> at) const = 0;
};

class ChunkedArray : private ChunkCache {
 public:
  // How much is kept: at most, and with chunks of which every sample was read.
  struct Keep {
    std::uint64_t bytes = 256u << 20;
    std::uint64_t bytes_with_read = 64u << 20;
  };

  // `grid` has passed check_grid(). All arrays share `memory`.
  ChunkedArray(ChunkGrid grid, std::unique_ptr<const ChunkLoader> loader, Keep keep,
               ChunkMemory& memory = ChunkMemory::shared());
  ChunkedArray(ChunkGrid grid, std::unique_ptr<const ChunkLoader> loader)
      : ChunkedArray(std::move(grid), std::move(loader), Keep{}) {}
  ~ChunkedArray() override;
  ChunkedArray(const ChunkedArray&) = delete;
  ChunkedArray& operator=(const ChunkedArray&) = delete;

  const ChunkGrid& grid() const { return grid_; }

  // Sample i along this axis, for which sample_type() gave no fault. Throws Error.
  void read_sample(std::vector<std::byte>& out, std::size_t axis, std::uint64_t i) const;

  // What is kept in memory at most: Keep::bytes, or one chunk where that is more.
  std::uint64_t memory() const;
  // What a thread takes besides, while it loads a chunk.
  std::uint64_t memory_while_reading() const;
  // Less than Keep::bytes from now on. Chunks that are kept already go with the next read.
  void keep_at_most(std::uint64_t bytes) const;

 private:
  struct Entry {
    std::mutex mutex;  // held while the chunk is loaded: a second thread waits and then has it
    bool loaded = false;
    ChunkMemory::Charge charge;
    Chunk chunk;
    std::uint64_t reads = 0;  // of its samples, since it was all read; guarded by mutex_
    bool is_read = false;     // all of it; guarded by mutex_
  };
  using Recent =
      std::list<std::pair<std::uint64_t, std::shared_ptr<Entry>>>;  // newest first, read ones last

  std::shared_ptr<const Entry> chunk_at(std::span<const std::uint64_t> at, std::size_t axis) const;
  bool drop_one() const override;
  // `samples`: how many this chunk has a part of.
  std::shared_ptr<Entry> entry_of(std::uint64_t number, std::uint64_t samples) const;

  const ChunkGrid grid_;
  const std::unique_ptr<const ChunkLoader> loader_;
  ChunkMemory& chunk_memory_;
  const std::vector<std::uint64_t> counts_;
  mutable std::atomic<std::size_t> kept_chunks_, kept_with_read_;

  mutable std::mutex mutex_;  // guards what follows
  mutable Recent recent_;
  mutable std::unordered_map<std::uint64_t, Recent::iterator> places_;
};

}  // namespace tundish
