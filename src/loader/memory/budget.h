// The memory that a loader may use, shared out among its threads.
//
// Two kinds of claims. Batches are reserved: the share only grows, as larger batches come.
// Samples are charged for the time of their decoding: one that needs more than is left waits, the
// oldest batch first. No thread holds a charge while waiting, so the first in the queue is served
// at the latest when all others have finished.
//
// What is left is lent to a cache, which has to give it back when a claim needs it.
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

  // Waits for so many bytes; give() them back. too_large: they would not be free even if all others
  // had finished. A small age goes first.
  Answer take(std::uint64_t bytes, std::uint64_t age);
  void give(std::uint64_t bytes);

  // Raises the share of all batches together to at least so many bytes. Waits like take().
  Answer reserve(std::uint64_t bytes, std::uint64_t age);

  // For a cache. False: so much is not left, or a claim waits.
  bool lend(std::uint64_t bytes);
  void take_back(std::uint64_t bytes);
  std::uint64_t lendable() const;
  bool is_short() const { return waiting_count_ > 0; }  // unused loans are to be given back

  // `shrink` is called, without a lock, when a claim does not fit beside what is lent: at most so
  // many bytes are to stay out. Set it before any claim.
  void on_shortage(std::function<void(std::uint64_t bytes)> shrink) { shrink_ = std::move(shrink); }

  // Wakes all threads that wait.
  void close();

  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t reserved() const { return reserved_.load(std::memory_order_relaxed); }
  std::uint64_t left_for_samples() const { return bytes_ - reserved(); }
  std::uint64_t most_used() const;  // reserved, charged and lent, at the highest
  std::size_t waiting() const;      // how many wait

 private:
  enum class Claim { charge, reservation };
  Answer wait_for(Claim claim, std::uint64_t bytes, std::uint64_t age);
  bool fits(Claim claim, std::uint64_t bytes, std::uint64_t used) const;  // with the lock held
  void count_most_used();                                                 // likewise

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

// A charge that is given back by itself.
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

  // The charge must be empty: a thread that waits holds no memory.
  MemoryBudget::Answer take(MemoryBudget& budget, std::uint64_t bytes, std::uint64_t age);
  void give();
  std::uint64_t bytes() const { return bytes_; }

 private:
  MemoryBudget* budget_ = nullptr;  // which lives longer
  std::uint64_t bytes_ = 0;
};

}  // namespace tundish
