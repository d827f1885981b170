// Samples kept in memory as long as they come again soon enough: as they are coded, or decoded at
// their stored size. It uses what is left of the budget and gives it up when a sample at work
// needs it.
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

// One sample, in pages. Filled by one thread, then only read.
class CachedSample {
 public:
  CachedSample(PagePool& pool, std::vector<PagePool::Page> pages)
      : pool_(pool), pages_(std::move(pages)) {}
  ~CachedSample() { pool_.give(pages_); }
  CachedSample(const CachedSample&) = delete;
  CachedSample& operator=(const CachedSample&) = delete;

  void write(std::uint64_t at, const void* from, std::uint64_t bytes);
  void read(void* to, std::uint64_t at, std::uint64_t bytes) const;

  std::vector<std::uint64_t> fields;  // bytes of each; they come first
  ImageHeader header;                 // of decoded pixels, which come after the fields
  std::uint64_t pixels_at = 0;

 private:
  PagePool& pool_;
  std::vector<PagePool::Page> pages_;
};

class SampleCache {
 public:
  // Both live longer than the cache and all that find() gives out.
  SampleCache(CacheKind kind, MemoryBudget& budget, std::uint64_t most_bytes);

  CacheKind kind() const { return kind_; }

  // The sample is being used and comes again at `next`. Null: it is not here.
  std::shared_ptr<const CachedSample> find(std::uint64_t sample, std::uint64_t next);

  // Room for a sample that is not here. Whoever has it fills it and calls keep(); otherwise it goes
  // back.
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
    std::shared_ptr<CachedSample> memory_;  // second owner: the cache, once it is kept
  };

  // None when all that would have to go come sooner, or when memory is short.
  Room make_room(std::uint64_t sample, std::uint64_t bytes, std::uint64_t next);

  void shrink_to(std::uint64_t bytes);  // now; what is being read follows when it has been
  void retime(const std::function<std::uint64_t(std::uint64_t sample)>& next_of);
  std::uint64_t bytes() const;  // held now

 private:
  void forget(std::uint64_t sample);

  const CacheKind kind_;
  const MemoryBudget& budget_;
  PagePool pool_;

  mutable std::mutex mutex_;  // guards what follows
  CachePolicy policy_;        // also of those that are being filled
  std::unordered_map<std::uint64_t, std::shared_ptr<const CachedSample>> kept_;
};

// Memory of the tables of a cache that has `count` samples to choose from.
std::uint64_t cache_table_bytes(std::uint64_t count, std::uint64_t budget);

}  // namespace tundish
