// The memory that a loader may use, shared by its threads.
//
// There are two kinds of claims. Batches are reserved: their share only grows, with larger batches.
// Samples are charged while they are decoded. A sample that needs more than is left waits; samples
// of the oldest batch go first. No thread holds a charge while waiting. The first in the queue is
// therefore served at the latest when all others have finished.
//
// The rest is lent to a cache, which must return memory when a claim needs it.
//
// Thread safety: any method may be called from any thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <utility>

namespace tundish {

class MemoryBudget {
 public:
  explicit MemoryBudget(std::uint64_t bytes) : bytes_(bytes) {}

  enum class Answer { granted, too_large, closed };

  // Waits for `bytes`, to be released by give(). too_large: they would not be free even after all
  // others finish. Smaller ages go first.
  Answer take(std::uint64_t bytes, std::uint64_t age);
  void give(std::uint64_t bytes);

  // Raises the share of all batches together to at least `bytes`. Waits like take().
  Answer reserve(std::uint64_t bytes, std::uint64_t age);

  // Lends to a cache. Returns false if not enough is left, or if a claim waits.
  bool lend(std::uint64_t bytes);
  void take_back(std::uint64_t bytes);
  std::uint64_t lendable() const;
  bool is_short() const { return waiting_count_ > 0; }  // unused loans should be returned

  // `shrink` is called without a lock if a claim does not fit beside the loans. At most `bytes` may
  // stay lent. Must be set before any claim.
  void on_shortage(std::function<void(std::uint64_t bytes)> shrink) { shrink_ = std::move(shrink); }

  // Notifies all waiting threads.
  void close();

  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t reserved() const { return reserved_.load(std::memory_order_relaxed); }
  std::uint64_t left_for_samples() const { return bytes_ - reserved(); }
  std::uint64_t most_used() const;  // peak of reserved, charged and lent bytes
  std::size_t waiting() const;      // number of waiting claims

 private:
  enum class Claim { charge, reservation };
  Answer wait_for(Claim claim, std::uint64_t bytes, std::uint64_t age);
  bool fits(Claim claim, std::uint64_t bytes, std::uint64_t used) const;  // lock must be held
  void count_most_used();                                                 // lock must be held

  const std::uint64_t bytes_;
  std::function<void(std::uint64_t bytes)> shrink_;
  std::atomic<std::uint64_t> reserved_{0};  // written with the lock held

  mutable std::mutex mutex_;  // guards everything below
  std::condition_variable changed_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> waiting_;  // age, number
  std::uint64_t next_number_ = 0;
  std::atomic<std::size_t> waiting_count_{0};
  std::uint64_t charged_ = 0;
  std::uint64_t lent_ = 0;
  std::uint64_t most_used_ = 0;
  bool closed_ = false;
};

// A charge that is released by the destructor.
class Charge {
 public:
  Charge() = default;
  Charge(Charge&& other) noexcept
      : budget_(std::exchange(other.budget_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Charge& operator=(Charge&& other) noexcept {
    std::swap(budget_, other.budget_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Charge() { give(); }

  // The charge must be empty: a waiting thread holds no memory.
  MemoryBudget::Answer take(MemoryBudget& budget, std::uint64_t bytes, std::uint64_t age);
  void give();
  std::uint64_t bytes() const { return bytes_; }

 private:
  MemoryBudget* budget_ = nullptr;  // must outlive the charge
  std::uint64_t bytes_ = 0;
};

}  // namespace tundish
