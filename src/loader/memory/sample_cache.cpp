#include "loader/memory/sample_cache.h"

#include <algorithm>
#include <cstring>

namespace tundish {
namespace {

constexpr std::uint64_t kPerSample = 400;  // nodes of two hash tables and a tree, and the object

// Calls copy(page, offset, bytes) for every piece of a page.
template <class Pool, class Pages, class Copy>
void walk(const Pool& pool, const Pages& pages, std::uint64_t at, std::uint64_t bytes,
          const Copy& copy) {
  for (std::uint64_t done = 0; done < bytes;) {
    const std::uint64_t place = (at + done) % kPageBytes;
    const std::uint64_t count = std::min(kPageBytes - place, bytes - done);
    copy(pool.at(pages[(at + done) / kPageBytes]) + place, done, count);
    done += count;
  }
}

}  // namespace

void CachedSample::write(std::uint64_t at, const void* from, std::uint64_t bytes) {
  walk(pool_, pages_, at, bytes, [&](std::byte* page, std::uint64_t done, std::uint64_t count) {
    std::memcpy(page, static_cast<const std::byte*>(from) + done, count);
  });
}

void CachedSample::read(void* to, std::uint64_t at, std::uint64_t bytes) const {
  walk(pool_, pages_, at, bytes,
       [&](const std::byte* page, std::uint64_t done, std::uint64_t count) {
         std::memcpy(static_cast<std::byte*>(to) + done, page, count);
       });
}

SampleCache::SampleCache(CacheKind kind, MemoryBudget& budget, std::uint64_t most_bytes)
    : kind_(kind), budget_(budget), pool_(budget, most_bytes) {
  budget.on_shortage([this](std::uint64_t bytes) { shrink_to(bytes); });
}

std::shared_ptr<const CachedSample> SampleCache::find(std::uint64_t sample, std::uint64_t next) {
  const std::lock_guard lock(mutex_);
  const auto at = kept_.find(sample);
  if (at == kept_.end()) return nullptr;
  policy_.use(sample, next);
  return at->second;
}

SampleCache::Room SampleCache::make_room(std::uint64_t sample, std::uint64_t bytes,
                                         std::uint64_t next) {
  const std::uint64_t pages = std::max<std::uint64_t>(pages_of(bytes), 1);
  std::vector<std::uint64_t> gone;
  const std::lock_guard lock(mutex_);
  if (budget_.is_short() || policy_.holds(sample)) return {};  // or another thread was faster
  if (!policy_.admit(sample, pages * kPageBytes, next, pool_.room() * kPageBytes, gone)) return {};
  for (const std::uint64_t one : gone) kept_.erase(one);
  std::vector<PagePool::Page> taken;
  if (!pool_.take(taken, pages)) {  // evicted samples are still being read
    policy_.remove(sample);
    return {};
  }
  return {*this, sample, std::make_shared<CachedSample>(pool_, std::move(taken))};
}

SampleCache::Room::~Room() {
  if (memory_) cache_->forget(sample_);
}

std::shared_ptr<const CachedSample> SampleCache::Room::keep() {
  std::shared_ptr<const CachedSample> filled = std::move(memory_);
  const std::lock_guard lock(cache_->mutex_);
  if (cache_->policy_.holds(sample_)) cache_->kept_.emplace(sample_, filled);  // not evicted
  return filled;
}

void SampleCache::forget(std::uint64_t sample) {
  const std::lock_guard lock(mutex_);
  policy_.remove(sample);
  kept_.erase(sample);
}

void SampleCache::shrink_to(std::uint64_t bytes) {
  std::vector<std::uint64_t> gone;
  const std::lock_guard lock(mutex_);
  policy_.shrink_to(bytes, gone);
  for (const std::uint64_t one : gone) kept_.erase(one);
  pool_.trim();
}

void SampleCache::retime(const std::function<std::uint64_t(std::uint64_t sample)>& next_of) {
  const std::lock_guard lock(mutex_);
  policy_.retime(next_of);
}

std::uint64_t SampleCache::bytes() const {
  const std::lock_guard lock(mutex_);
  return policy_.bytes();
}

std::uint64_t cache_table_bytes(std::uint64_t count, std::uint64_t budget) {
  const std::uint64_t pages = budget / kPageBytes;
  return std::min(count, pages) * kPerSample + pages * 2 * sizeof(PagePool::Page);
}

}  // namespace tundish
