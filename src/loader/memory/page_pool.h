// Memory of a cache: pages of one size, so that samples of any size come and go without a gap.
//
// Every page that has been touched is lent by the budget. Pages that are free wait to be used
// again; when a claim on the budget waits for memory, they go back to the system at once.
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
  // The budget lives longer. Takes addresses, not memory. Throws Error(no_memory).
  PagePool(MemoryBudget& budget, std::uint64_t most_bytes);
  ~PagePool();
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;

  using Page = std::uint32_t;

  // False, and nothing is taken, when so many are not free at this moment.
  bool take(std::vector<Page>& out, std::uint64_t count);
  void give(std::vector<Page>& pages);  // sorts them
  std::byte* at(Page page) const { return memory_ + std::uint64_t{page} * kPageBytes; }

  std::uint64_t room() const;  // pages that take() would find
  void trim();                 // free pages go back to the system

 private:
  void release(std::vector<Page>& pages);  // with the lock held

  MemoryBudget& budget_;
  const std::uint64_t most_;  // pages
  std::byte* memory_ = nullptr;

  mutable std::mutex mutex_;    // guards what follows
  std::vector<Page> free_;      // touched
  std::vector<Page> released_;  // untouched again
  std::uint64_t next_ = 0;      // those from here on were never touched
};

}  // namespace tundish
