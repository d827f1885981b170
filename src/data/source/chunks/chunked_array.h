// One array in chunks, read sample by sample from any thread. Caches chunks, so that samples of one
// chunk do not decompress it again. A chunk whose samples were all read is needed last, because
// an epoch visits each sample once, in any order.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
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

// Loads chunks. Any thread.
class ChunkLoader {
 public:
  virtual ~ChunkLoader() = default;
  // Loads and decompresses the chunk at these chunk coordinates; `out` has no bytes if the chunk is
  // missing. Sets every side of the shape, and as many bytes as it requires. Throws Error.
  virtual void load(Chunk& out, std::span<const std::uint64_t> at) const = 0;
};

class ChunkedArray : private ChunkCache {
 public:
  // Limits of the cache in bytes. Above `bytes_with_read`, fully read chunks are dropped.
  struct Keep {
    std::uint64_t bytes = 256u << 20;
    std::uint64_t bytes_with_read = 64u << 20;
  };

  // Requires that `grid` has passed check_grid(). All arrays share `memory`.
  ChunkedArray(ChunkGrid grid, std::unique_ptr<const ChunkLoader> loader, Keep keep,
               ChunkMemory& memory = ChunkMemory::shared());
  ChunkedArray(ChunkGrid grid, std::unique_ptr<const ChunkLoader> loader)
      : ChunkedArray(std::move(grid), std::move(loader), Keep{}) {}
  ~ChunkedArray() override;
  ChunkedArray(const ChunkedArray&) = delete;
  ChunkedArray& operator=(const ChunkedArray&) = delete;

  const ChunkGrid& grid() const { return grid_; }

  // Reads sample i along this axis, for which sample_type() gave no fault. Throws Error.
  void read_sample(std::vector<std::byte>& out, std::size_t axis, std::uint64_t i) const;

  // Calls use(element) for samples i to the end of the chunk of i, where each sample is one
  // element: all other sides of the array are 1. Returns false if the chunk is missing. Throws
  // Error.
  bool visit_elements(std::size_t axis, std::uint64_t i,
                      const std::function<void(Bytes element)>& use) const;

  // Returns the maximum size of the cache: Keep::bytes, or one chunk if larger.
  std::uint64_t memory() const;
  // Returns the additional memory of a thread that loads a chunk.
  std::uint64_t memory_while_reading() const;
  // Lowers the limit of the cache to `bytes`. Excess chunks are dropped at the next read.
  void keep_at_most(std::uint64_t bytes) const;

 private:
  struct Entry {
    std::mutex mutex;  // held during loading: a second thread waits for the result
    bool loaded = false;
    ChunkMemory::Charge charge;
    Chunk chunk;
    std::uint64_t reads = 0;  // reads of samples since the last full read; guarded by mutex_
    bool is_read = false;     // every sample was read; guarded by mutex_
  };
  using Recent =
      std::list<std::pair<std::uint64_t, std::shared_ptr<Entry>>>;  // newest first, read ones last

  std::shared_ptr<const Entry> chunk_at(std::span<const std::uint64_t> at, std::size_t axis) const;
  bool drop_one() const override;
  // `samples`: number of samples that have a part in this chunk.
  std::shared_ptr<Entry> entry_of(std::uint64_t number, std::uint64_t samples) const;

  const ChunkGrid grid_;
  const std::unique_ptr<const ChunkLoader> loader_;
  ChunkMemory& chunk_memory_;
  const std::vector<std::uint64_t> counts_;
  mutable std::atomic<std::size_t> kept_chunks_, kept_with_read_;

  mutable std::mutex mutex_;  // guards the members below
  mutable Recent recent_;
  mutable std::unordered_map<std::uint64_t, Recent::iterator> places_;
};

}  // namespace tundish
