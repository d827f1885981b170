#include "loader/engine/ring.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

namespace tundish {

struct SlotPool {
  SlotPool(std::size_t spare, std::size_t most) : most(most), spare(spare) {}

  const std::size_t most;  // slots beyond which no free slot is kept; 0: no limit
  const pid_t process = ::getpid();
  std::mutex mutex;   // guards everything below
  std::size_t spare;  // number of free slots to keep
  std::vector<std::unique_ptr<Slot>> free;
  std::uint64_t taken = 0;
  std::size_t alive = 0;
};

namespace {

std::shared_ptr<Slot> take_slot(const std::shared_ptr<SlotPool>& pool) {
  std::unique_ptr<Slot> slot;
  {
    std::lock_guard lock(pool->mutex);
    if (!pool->free.empty()) {
      slot = std::move(pool->free.back());
      pool->free.pop_back();
    } else {
      ++pool->taken;
      ++pool->alive;
    }
  }
  if (!slot) slot = std::make_unique<Slot>();
  // The deleter shares ownership of the pool, so that a tensor may outlive its loader.
  return {slot.release(), [pool](Slot* used) {
            // In a forked child the lock may stay locked, and the memory may belong to a driver.
            if (::getpid() != pool->process) return;
            std::unique_ptr<Slot> back(used);
            for (SlotView& view : used->views) {
              if (view.pixels.is_borrowed()) view.pixels.release();
            }
            std::lock_guard lock(pool->mutex);
            const bool many = pool->most > 0 && pool->alive > pool->most;
            if (pool->free.size() < pool->spare && !many) {
              pool->free.push_back(std::move(back));
            } else {
              --pool->alive;
            }
          }};
}

}  // namespace

Ring::Ring(std::size_t depth, std::size_t most_slots, std::size_t spare, std::size_t more_single)
    : more_single_(more_single),
      pool_(std::make_shared<SlotPool>(std::max<std::size_t>(depth, 1) + 1 + spare + more_single,
                                       most_slots)),
      depth_(std::max<std::size_t>(depth, 1)) {}

Ring::~Ring() { close(); }

void Ring::restart(Opener opener) {
  {
    std::lock_guard lock(mutex_);
    open_.clear();
    opener_ = std::move(opener);
    exhausted_ = false;
  }
  work_.notify_all();
}

bool Ring::open_one() {
  const bool single = !open_.empty() && open_.back().slot->single_task;
  if (exhausted_ || open_.size() >= depth_ + (single ? more_single_ : 0)) return false;
  std::shared_ptr<Slot> slot = take_slot(pool_);
  for (SlotView& view : slot->views) view.size = {};
  slot->places.clear();
  slot->foreign_partners = 0;
  slot->mixes.clear();
  slot->needed_by.clear();
  slot->single_task = false;
  if (!opener_(*slot)) {
    exhausted_ = true;
    ready_.notify_all();
    return false;
  }
  const std::size_t places = slot->places.size();
  const std::size_t tasks = slot->single_task ? std::min<std::size_t>(places, 1) : places;
  open_.push_back({std::move(slot), next_ticket_++, tasks, 0, tasks});
  if (tasks == 0) ready_.notify_all();
  return true;
}

std::variant<Ring::Task, Ring::Blocked> Ring::claim_now(std::size_t worker) {
  if (closed_) return Blocked::closed;
  if (worker >= active_) return Blocked::not_active;
  do {
    for (Open& open : open_) {
      if (open.claimed < open.tasks) return Task{open.slot, open.claimed++, open.ticket};
    }
  } while (open_one());
  return Blocked::no_work;
}

std::variant<Ring::Task, Ring::Blocked> Ring::try_claim(std::size_t worker) {
  std::lock_guard lock(mutex_);
  return claim_now(worker);
}

std::optional<Ring::Task> Ring::claim(std::size_t worker) {
  std::unique_lock lock(mutex_);
  for (;;) {
    auto result = claim_now(worker);
    if (Task* task = std::get_if<Task>(&result)) return std::move(*task);
    switch (std::get<Blocked>(result)) {
      case Blocked::no_work:
        work_.wait(lock);
        break;
      case Blocked::not_active:
        active_again_.wait(lock);
        break;
      case Blocked::closed:
        return std::nullopt;
    }
  }
}

void Ring::set_active(std::size_t workers) {
  {
    std::lock_guard lock(mutex_);
    active_ = std::max<std::size_t>(workers, 1);
  }
  active_again_.notify_all();
}

void Ring::set_depth(std::size_t depth) {
  {
    std::lock_guard lock(mutex_);
    const std::size_t before = std::exchange(depth_, std::max<std::size_t>(depth, 1));
    std::lock_guard pool_lock(pool_->mutex);
    pool_->spare = pool_->spare + depth_ - before;
  }
  work_.notify_all();
}

void Ring::done(Task task) {
  std::lock_guard lock(mutex_);
  task.slot
      .reset();  // before the trainer can take the batch, as a slow worker must not keep the slot
  for (Open& open : open_) {
    if (open.ticket != task.ticket) continue;
    if (--open.remaining == 0 && &open == &open_.front()) ready_.notify_all();
    return;
  }
}

Ring::Taken Ring::take(std::shared_ptr<Slot>& out, std::chrono::nanoseconds timeout) {
  std::unique_lock lock(mutex_);
  const bool settled = ready_.wait_for(lock, timeout, [&] {
    return closed_ || (!open_.empty() && open_.front().remaining == 0) ||
           (open_.empty() && exhausted_);
  });
  if (!settled) return Taken::again;
  if (closed_ || open_.empty()) return Taken::end;
  out = std::move(open_.front().slot);
  open_.pop_front();
  work_.notify_all();
  return Taken::batch;
}

void Ring::close() {
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
    open_.clear();
  }
  work_.notify_all();
  ready_.notify_all();
  active_again_.notify_all();
}

bool Ring::is_closed() const {
  std::lock_guard lock(mutex_);
  return closed_;
}

RingStats Ring::stats() const {
  RingStats stats;
  {
    std::lock_guard lock(mutex_);
    stats.depth = depth_;
    for (const Open& open : open_) {
      if (open.remaining > 0) break;
      ++stats.ready;
    }
  }
  std::lock_guard lock(pool_->mutex);
  stats.slots = pool_->taken;
  return stats;
}

}  // namespace tundish
