#include "loader/memory/page_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <limits>

#include "base/error.h"

namespace tundish {

PagePool::PagePool(MemoryBudget& budget, std::uint64_t most_bytes)
    : budget_(budget),
      most_(
          std::clamp<std::uint64_t>(most_bytes / kPageBytes, 1, std::numeric_limits<Page>::max())) {
  void* at = ::mmap(nullptr, most_ * kPageBytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) {
    throw Error(ErrorCode::no_memory, {}, "no addresses are left for the cache");
  }
  // Otherwise the system would provide a whole huge page when one small page in it is touched.
  ::madvise(at, most_ * kPageBytes, MADV_NOHUGEPAGE);
  memory_ = static_cast<std::byte*>(at);
}

PagePool::~PagePool() { ::munmap(memory_, most_ * kPageBytes); }

bool PagePool::take(std::vector<Page>& out, std::uint64_t count) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t used = std::min<std::uint64_t>(count, free_.size());
  const std::uint64_t fresh = count - used;
  if (fresh > released_.size() + most_ - next_) return false;
  if (fresh > 0 && !budget_.lend(fresh * kPageBytes)) return false;
  out.clear();
  out.reserve(count);
  const auto move_last = [&](std::vector<Page>& from, std::uint64_t pages) {
    out.insert(out.end(), from.end() - static_cast<std::ptrdiff_t>(pages), from.end());
    from.resize(from.size() - pages);
  };
  move_last(free_, used);
  move_last(released_, std::min<std::uint64_t>(fresh, released_.size()));
  while (out.size() < count) out.push_back(static_cast<Page>(next_++));
  return true;
}

void PagePool::give(std::vector<Page>& pages) {
  const std::lock_guard lock(mutex_);
  if (budget_.is_short()) {
    release(pages);
  } else {
    free_.insert(free_.end(), pages.begin(), pages.end());
  }
  pages.clear();
}

void PagePool::trim() {
  const std::lock_guard lock(mutex_);
  release(free_);
  free_.clear();
}

std::uint64_t PagePool::room() const {
  const std::lock_guard lock(mutex_);
  const std::uint64_t fresh = released_.size() + most_ - next_;
  return free_.size() + std::min(fresh, budget_.lendable() / kPageBytes);
}

// Releases neighboring pages in one call.
void PagePool::release(std::vector<Page>& pages) {
  std::sort(pages.begin(), pages.end());
  for (std::size_t first = 0; first < pages.size();) {
    std::size_t last = first + 1;
    while (last < pages.size() && pages[last] == pages[last - 1] + 1) ++last;
    ::madvise(at(pages[first]), (last - first) * kPageBytes, MADV_DONTNEED);
    first = last;
  }
  released_.insert(released_.end(), pages.begin(), pages.end());
  budget_.take_back(pages.size() * kPageBytes);
}

}  // namespace tundish
