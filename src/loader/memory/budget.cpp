#include "loader/memory/budget.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace tundish {

bool MemoryBudget::fits(Claim claim, std::uint64_t bytes, std::uint64_t used) const {
  const std::uint64_t reserved = claim == Claim::reservation ? bytes : reserved_.load();
  const std::uint64_t wanted = claim == Claim::charge ? used + bytes : used;
  return reserved <= bytes_ && wanted <= bytes_ - reserved;
}

void MemoryBudget::count_most_used() {
  most_used_ = std::max(most_used_, reserved_ + charged_ + lent_);
}

MemoryBudget::Answer MemoryBudget::wait_for(Claim claim, std::uint64_t bytes, std::uint64_t age) {
  std::unique_lock lock(mutex_);
  const auto me = waiting_.emplace(age, next_number_++).first;
  waiting_count_ = waiting_.size();
  // A claim that fitted once may not fit any more after the batches have grown.
  bool asked = false;
  while (!closed_ && fits(claim, bytes, 0)) {
    const bool first = me == waiting_.begin();
    if (first && fits(claim, bytes, charged_ + lent_)) break;
    if (first && lent_ > 0 && !std::exchange(asked, true)) {
      // Nothing is lent while a claim waits, so one call is enough.
      const std::uint64_t others =
          (claim == Claim::charge ? reserved_.load() : 0) + charged_ + bytes;
      lock.unlock();
      shrink_(bytes_ - std::min(bytes_, others));
      lock.lock();
      continue;
    }
    changed_.wait(lock);
  }
  Answer answer = Answer::granted;
  if (closed_) {
    answer = Answer::closed;
  } else if (!fits(claim, bytes, 0)) {
    answer = Answer::too_large;
  } else if (claim == Claim::charge) {
    charged_ += bytes;
  } else {
    reserved_ = std::max(reserved_.load(), bytes);
  }
  count_most_used();
  waiting_.erase(me);
  waiting_count_ = waiting_.size();
  changed_.notify_all();
  return answer;
}

bool MemoryBudget::lend(std::uint64_t bytes) {
  std::lock_guard lock(mutex_);
  if (!waiting_.empty() || !fits(Claim::charge, bytes, charged_ + lent_)) return false;
  lent_ += bytes;
  count_most_used();
  return true;
}

void MemoryBudget::take_back(std::uint64_t bytes) {
  {
    std::lock_guard lock(mutex_);
    assert(bytes <= lent_);
    lent_ -= bytes;
  }
  changed_.notify_all();
}

std::uint64_t MemoryBudget::lendable() const {
  std::lock_guard lock(mutex_);
  return waiting_.empty() ? bytes_ - std::min(bytes_, reserved_ + charged_ + lent_) : 0;
}

MemoryBudget::Answer MemoryBudget::take(std::uint64_t bytes, std::uint64_t age) {
  return wait_for(Claim::charge, bytes, age);
}

void MemoryBudget::give(std::uint64_t bytes) {
  {
    std::lock_guard lock(mutex_);
    assert(bytes <= charged_);
    charged_ -= bytes;
  }
  changed_.notify_all();
}

MemoryBudget::Answer MemoryBudget::reserve(std::uint64_t bytes, std::uint64_t age) {
  if (bytes <= reserved()) return Answer::granted;
  return wait_for(Claim::reservation, bytes, age);
}

void MemoryBudget::close() {
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
}

std::uint64_t MemoryBudget::most_used() const {
  std::lock_guard lock(mutex_);
  return most_used_;
}

std::size_t MemoryBudget::waiting() const {
  std::lock_guard lock(mutex_);
  return waiting_.size();
}

MemoryBudget::Answer Charge::take(MemoryBudget& budget, std::uint64_t bytes, std::uint64_t age) {
  assert(bytes_ == 0);
  const MemoryBudget::Answer answer = budget.take(bytes, age);
  if (answer != MemoryBudget::Answer::granted) return answer;
  budget_ = &budget;
  bytes_ = bytes;
  return answer;
}

void Charge::give() {
  if (bytes_ > 0) budget_->give(bytes_);
  budget_ = nullptr;
  bytes_ = 0;
}

}  // namespace tundish
