// Samples kept in memory while their next use is soon enough, either coded or decoded at their
// stored size. The cache uses the rest of the budget, and releases memory that a sample at work
// needs.
//
// Thread safety: any method may be called from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "codec/decode/decode.h"
#include "loader/memory/cache_policy.h"
#include "loader/memory/page_pool.h"

namespace tundish {

enum class CacheKind : std::uint8_t { none = 0, encoded = 1, decoded = 2, automatic = 3 };
constexpr std::array<const char*, 4> words(CacheKind) {
  return {"none", "encoded", "decoded", "auto"};
}

// One sample, stored in pages. Filled by one thread, then read-only.
class CachedSample {
 public:
  CachedSample(PagePool& pool, std::vector<PagePool::Page> pages)
      : pool_(pool), pages_(std::move(pages)) {}
  ~CachedSample() { pool_.give(pages_); }
  CachedSample(const CachedSample&) = delete;
  CachedSample& operator=(const CachedSample&) = delete;

  void write(std::uint64_t at, const void* from, std::uint64_t bytes);
  void read(void* to, std::uint64_t at, std::uint64_t bytes) const;

  std::vector<std::uint64_t> fields;  // bytes of each field; fields come first
  ImageHeader header;                 // header of decoded pixels, which follow the fields
  std::uint64_t pixels_at = 0;

 private:
  PagePool& pool_;
  std::vector<PagePool::Page> pages_;
};

class SampleCache {
 public:
  // `budget` must outlive the cache; the cache must outlive the samples that find() returns.
  SampleCache(CacheKind kind, MemoryBudget& budget, std::uint64_t most_bytes);

  CacheKind kind() const { return kind_; }

  // Reports a use of the sample, with its next use at `next`. Returns null if it is not cached.
  std::shared_ptr<const CachedSample> find(std::uint64_t sample, std::uint64_t next);

  // Memory for a sample that is not cached. The owner fills the memory and calls keep(); otherwise
  // the memory is released.
  class Room {
   public:
    Room() = default;
    Room(SampleCache& cache, std::uint64_t sample, std::shared_ptr<CachedSample> memory)
        : cache_(&cache), sample_(sample), memory_(std::move(memory)) {}
    Room(Room&&) = default;
    ~Room();

    explicit operator bool() const { return memory_ != nullptr; }
    CachedSample* operator->() const { return memory_.get(); }
    std::shared_ptr<const CachedSample> keep();

   private:
    SampleCache* cache_ = nullptr;
    std::uint64_t sample_ = 0;
    std::shared_ptr<CachedSample> memory_;  // shared with the cache after keep()
  };

  // Returns an empty Room if it would evict samples that are needed sooner, or if memory is short.
  Room make_room(std::uint64_t sample, std::uint64_t bytes, std::uint64_t next);

  void shrink_to(std::uint64_t bytes);  // at once; samples being read follow after the read
  void retime(const std::function<std::uint64_t(std::uint64_t sample)>& next_of);
  std::uint64_t bytes() const;  // bytes held now

 private:
  void forget(std::uint64_t sample);

  const CacheKind kind_;
  const MemoryBudget& budget_;
  PagePool pool_;

  mutable std::mutex mutex_;  // guards the following members
  CachePolicy policy_;        // includes samples that are being filled
  std::unordered_map<std::uint64_t, std::shared_ptr<const CachedSample>> kept_;
};

// Returns the bytes of the tables of a cache with `count` candidate samples.
std::uint64_t cache_table_bytes(std::uint64_t count, std::uint64_t budget);

}  // namespace tundish
