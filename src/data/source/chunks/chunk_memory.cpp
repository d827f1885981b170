#include "data/source/chunks/chunk_memory.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>

namespace tundish {
namespace {

// Documented in SECURITY.md. Fits the largest chunk that check_grid() allows, with its stored bytes
// and the buffers of its steps.
constexpr std::uint64_t kLimit = 1ull << 30;

// Readers do not announce that they are done with a chunk, so droppable chunks are polled for.
constexpr std::chrono::milliseconds kLookAgain(2);

}  // namespace

void ChunkMemory::Charge::loaded(std::uint64_t bytes) {
  if (!memory_ || !loading_) return;
  const std::lock_guard lock(memory_->mutex_);
  if (process_ != memory_->process_) return;
  memory_->loading_ -= bytes_;
  bytes_ = std::min(bytes, bytes_);
  memory_->kept_ += bytes_;
  loading_ = false;
  memory_->freed_.notify_all();
}

ChunkMemory& ChunkMemory::shared() {
  static ChunkMemory* const memory = new ChunkMemory(kLimit);  // charges may outlive statics
  return *memory;
}

ChunkMemory::Charge ChunkMemory::take(std::uint64_t bytes) {
  while (!try_take(bytes)) {
    if (drop_one()) continue;
    std::unique_lock lock(mutex_);
    freed_.wait_for(lock, kLookAgain);
  }
  return {*this, bytes, ::getpid()};
}

// Drops chunks only when nothing is being loaded: the end of a load frees most of its bytes.
bool ChunkMemory::try_take(std::uint64_t bytes) {
  std::unique_lock lock(mutex_);
  if (process_ !=
      ::getpid()) {  // after a fork: the parent's threads, which release charges, are missing
    process_ = ::getpid();
    loading_ = kept_ = 0;
  }
  freed_.wait(lock, [&] { return loading_ == 0 || loading_ + kept_ + bytes <= limit_; });
  if (loading_ + kept_ > 0 && loading_ + kept_ + bytes > limit_) return false;
  loading_ += bytes;
  return true;
}

bool ChunkMemory::drop_one() {
  const std::lock_guard lock(caches_mutex_);
  auto cache = caches_.upper_bound(last_);
  for (std::size_t tried = 0; tried < caches_.size(); ++tried, ++cache) {
    if (cache == caches_.end()) cache = caches_.begin();
    if (!(*cache)->drop_one()) continue;
    last_ = *cache;
    return true;
  }
  return false;
}

void ChunkMemory::release(const Charge& charge) {
  const std::lock_guard lock(mutex_);
  if (charge.process_ != process_) return;
  (charge.loading_ ? loading_ : kept_) -= charge.bytes_;
  freed_.notify_all();
}

void ChunkMemory::add(const ChunkCache& cache) {
  const std::lock_guard lock(caches_mutex_);
  caches_.insert(&cache);
}

void ChunkMemory::remove(const ChunkCache& cache) {
  const std::lock_guard lock(caches_mutex_);
  caches_.erase(&cache);
}

std::uint64_t ChunkMemory::used() const {
  const std::lock_guard lock(mutex_);
  return loading_ + kept_;
}

}  // namespace tundish
