// Memory of a cache: pages of one size, so that samples of any size leave no gaps.
//
// Every touched page is lent by the budget. Free pages are kept for reuse. When a claim on the
// budget waits for memory, free pages are returned to the system at once.
//
// Thread safety: any method may be called from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "loader/memory/budget.h"

namespace tundish {

inline constexpr std::uint64_t kPageBytes = 4096;

inline std::uint64_t pages_of(std::uint64_t bytes) { return (bytes + kPageBytes - 1) / kPageBytes; }

class PagePool {
 public:
  // The budget must outlive the pool. Reserves addresses, not memory. Throws Error(no_memory).
  PagePool(MemoryBudget& budget, std::uint64_t most_bytes);
  ~PagePool();
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;

  using Page = std::uint32_t;

  // Returns false, and takes nothing, if fewer pages are free at the moment.
  bool take(std::vector<Page>& out, std::uint64_t count);
  void give(std::vector<Page>& pages);  // sorts `pages`
  std::byte* at(Page page) const { return memory_ + std::uint64_t{page} * kPageBytes; }

  std::uint64_t room() const;  // number of pages that take() would find
  void trim();                 // returns free pages to the system

 private:
  void release(std::vector<Page>& pages);  // lock must be held

  MemoryBudget& budget_;
  const std::uint64_t most_;  // pages
  std::byte* memory_ = nullptr;

  mutable std::mutex mutex_;    // guards the following members
  std::vector<Page> free_;      // touched
  std::vector<Page> released_;  // returned to the system
  std::uint64_t next_ = 0;      // pages from here on were never touched
};

}  // namespace tundish
