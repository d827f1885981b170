// Passes batches from many workers to one trainer. The unit of work is one sample. Several
// batches are open at once, so one slow image never idles the other workers.
//
// Life cycle of a slot:
//   claim()  assigns a worker one place of the oldest batch that has one left (all places if
//            the slot is a single task); opens a new batch when all places are assigned
//            and fewer than `depth` batches wait
//   done()   marks a place as filled; the batch is ready when all places are
//   take()   passes ready batches to the trainer in the order in which they were opened
// A slot returns to the pool when its last user releases the slot. A tensor held by the trainer
// keeps its memory, and the ring takes another slot instead.
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

struct SlotPool;  // the free slots; kept alive by the slots in use

struct RingStats {
  std::uint64_t slots = 0;  // slots created so far
  std::uint64_t ready = 0;  // batches waiting for the trainer
  std::uint64_t depth = 0;  // batches open at once
};

class Ring {
 public:
  // Sets epoch, first, next, single_task and the number of places of the next batch. Returns false
  // if there is no batch. Called with the ring locked: must be fast and must not call the ring.
  using Opener = std::function<bool(Slot&)>;

  // most_slots: number of slots, in use and free, kept for reuse; 0: keeps depth + 1 free slots.
  // spare: additional slots, for a trainer that holds several batches. more_single: additional open
  // batches while batches are single tasks, so that every worker has one.
  explicit Ring(std::size_t depth, std::size_t most_slots = 0, std::size_t spare = 0,
                std::size_t more_single = 0);
  ~Ring();

  // Discards all batches not yet taken and continues with the batches of `opener`. Workers finish
  // the tasks of old batches without effect.
  void restart(Opener opener);

  struct Task {
    std::shared_ptr<Slot> slot;  // shared with the ring, then with the trainer
    std::size_t place;
    std::uint64_t ticket;
  };

  // Waits for work. Empty once the ring is closed. Workers are numbered from 0; workers at or above
  // the active count wait until the count is raised.
  std::optional<Task> claim(std::size_t worker = 0);

  // Like claim() without waiting: returns a task, or why there is none. take(), restart() and
  // set_depth() may end no_work; set_active() may end not_active. They notify the workers that wait
  // in claim().
  enum class Blocked { no_work, not_active, closed };
  std::variant<Task, Blocked> try_claim(std::size_t worker = 0);

  // Sets the number of workers that receive work, at least 1. Other workers finish their tasks.
  void set_active(std::size_t workers);

  // Sets the number of batches open at once, at least 1. Batches already open stay open.
  void set_depth(std::size_t depth);
  void done(Task task);  // pass by move, so that the worker keeps no share in the slot

  enum class Taken { batch, again, end };

  // Waits up to `timeout` for the next batch. `end`: the ring is closed, or the opener has no more.
  Taken take(std::shared_ptr<Slot>& out, std::chrono::nanoseconds timeout);

  // Notifies every waiter. Slots already taken stay valid.
  void close();
  bool is_closed() const;

  RingStats stats() const;

 private:
  struct Open {
    std::shared_ptr<Slot> slot;
    std::uint64_t ticket = 0;  // unique number of the batch
    std::size_t tasks = 0;     // number of places, or 1 for a single task
    std::size_t claimed = 0;
    std::size_t remaining = 0;  // tasks not yet done
  };

  bool open_one();  // lock must be held, also for the next
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
