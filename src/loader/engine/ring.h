// Passes batches from many workers to one trainer. The unit of work is one sample; several
// batches are open at once, so one slow image never idles the other workers.
//
// Life of a slot:
//   claim()  a worker receives one place of the oldest batch that has one left (all places, when
//            the slot is a single task); a new batch is opened when all places are given out
//            and fewer than `depth` batches wait
//   done()   that place is filled; the batch is ready when all are
//   take()   the trainer receives ready batches in the order in which they were opened
// A slot goes back to the pool when its last user releases the slot: a tensor that the trainer
// holds keeps its memory, and the ring takes another slot instead.
//
// Thread safety: any method may be called from any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <variant>
#include <vector>

#include "loader/engine/slot.h"

namespace tundish {

struct SlotPool;  // the free slots; kept alive by the slots that are out

struct RingStats {
  std::uint64_t slots = 0;  // taken so far
  std::uint64_t ready = 0;  // batches waiting for the trainer
  std::uint64_t depth = 0;  // batches open at once
};

class Ring {
 public:
  // Sets epoch, first, next, single_task and the number of places of the next batch; false: there
  // is none. Called with the ring locked: must be quick and must not call the ring.
  using Opener = std::function<bool(Slot&)>;

  // most_slots: slots, in use and free, that are kept for use again; 0: depth + 1 free ones. spare:
  // so many more, for a trainer that holds several batches. more_single: batches open besides
  // `depth` while batches are single tasks, so that every worker has one.
  explicit Ring(std::size_t depth, std::size_t most_slots = 0, std::size_t spare = 0,
                std::size_t more_single = 0);
  ~Ring();

  // Forgets all batches not yet taken and goes on with those of `opener`. Workers that still fill
  // an old batch do so for nothing.
  void restart(Opener opener);

  struct Task {
    std::shared_ptr<Slot> slot;  // second owner: the ring, then the trainer
    std::size_t place;
    std::uint64_t ticket;
  };

  // Waits for work. Empty once the ring is closed. Workers have numbers from 0; those that are not
  // below the active count wait until they are.
  std::optional<Task> claim(std::size_t worker = 0);

  // The same without waiting: a task, or why there is none. take(), restart() and set_depth() may
  // end no_work, set_active() may end not_active; they wake the workers that wait for it in
  // claim().
  enum class Blocked { no_work, not_active, closed };
  std::variant<Task, Blocked> try_claim(std::size_t worker = 0);

  // From now on so many workers receive work, at least 1. What others are filling they finish.
  void set_active(std::size_t workers);

  // From now on so many batches are open at once, at least 1. Those that are open stay so.
  void set_depth(std::size_t depth);
  void done(Task task);  // moved in, it leaves the worker without a share in the slot

  enum class Taken { batch, again, end };

  // Waits up to `timeout` for the next batch. `end`: closed, or the opener has no more.
  Taken take(std::shared_ptr<Slot>& out, std::chrono::nanoseconds timeout);

  // Wakes every waiter. Slots already taken stay valid.
  void close();
  bool is_closed() const;

  RingStats stats() const;

 private:
  struct Open {
    std::shared_ptr<Slot> slot;
    std::uint64_t ticket = 0;  // names this batch among all that were ever opened
    std::size_t tasks = 0;     // places, or one for all of them
    std::size_t claimed = 0;
    std::size_t left = 0;  // tasks not done
  };

  bool open_one();  // with the lock held, as the next
  std::variant<Task, Blocked> claim_now(std::size_t worker);

  const std::size_t more_single_;
  std::shared_ptr<SlotPool> pool_;

  mutable std::mutex mutex_;  // guards everything below
  std::condition_variable work_, ready_, active_again_;
  std::size_t depth_;
  std::size_t active_ = ~std::size_t{0};
  Opener opener_;
  std::deque<Open> open_;
  std::uint64_t next_ticket_ = 0;
  bool exhausted_ = true;
  bool closed_ = false;
};

}  // namespace tundish
