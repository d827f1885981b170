#include "data/pack/write/ordered_queue.h"

namespace tundish {

std::optional<std::uint64_t> OrderedQueue::claim(
    std::uint64_t count, const std::function<std::uint64_t(std::uint64_t)>& expected) {
  std::unique_lock lock(mutex_);
  std::uint64_t bytes = 0;
  room_.wait(lock, [&] {
    if (stopped_ || next_claimed_ >= count) return true;
    if (in_flight_ >= kWindow) return false;
    // Claims are in order, so with nothing in flight this place is the writer's next.
    bytes = expected(next_claimed_);
    return in_flight_ == 0 || (bytes <= budget_ && in_flight_bytes_ <= budget_ - bytes);
  });
  if (stopped_ || next_claimed_ >= count) return std::nullopt;
  ++in_flight_;
  in_flight_bytes_ += bytes;
  return next_claimed_++;
}

void OrderedQueue::deliver(std::uint64_t place, std::uint64_t expected, Prepared prepared) {
  const std::lock_guard lock(mutex_);
  in_flight_bytes_ += prepared.bytes - expected;
  delivered_.emplace(place, std::move(prepared));
  if (place == next_taken_) ready_.notify_one();
}

void OrderedQueue::finish(std::uint64_t count) {
  const std::lock_guard lock(mutex_);
  count_ = count;
  ready_.notify_one();
}

void OrderedQueue::fail(std::exception_ptr error) {
  const std::lock_guard lock(mutex_);
  if (!error_) error_ = std::move(error);
  stopped_ = true;
  ready_.notify_one();
  room_.notify_all();
}

void OrderedQueue::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  room_.notify_all();
}

std::optional<Prepared> OrderedQueue::take(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  const auto first = [&] { return delivered_.find(next_taken_); };
  ready_.wait_for(lock, timeout,
                  [&] { return error_ || next_taken_ >= count_ || first() != delivered_.end(); });
  const auto found = first();
  // Samples prepared before the failure are still written: an interrupted pack keeps them.
  if (error_ && found == delivered_.end()) std::rethrow_exception(error_);
  if (found == delivered_.end()) return std::nullopt;
  Prepared prepared = std::move(found->second);
  delivered_.erase(found);
  ++next_taken_;
  return prepared;
}

bool OrderedQueue::done() const {
  const std::lock_guard lock(mutex_);
  return next_taken_ >= count_;
}

void OrderedQueue::release(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  --in_flight_;
  in_flight_bytes_ -= bytes;
  room_.notify_all();
}

}  // namespace tundish
