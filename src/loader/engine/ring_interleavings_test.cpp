// Every order in which workers, the trainer and changes of the settings can enter the ring. Each
// method of the ring is one critical section, so threads can only differ in the order of calls.
// ring_active_test.cpp does the same with real threads, which also need the notifications.
#include <doctest/doctest.h>

#include <functional>
#include <optional>
#include <set>
#include <variant>
#include <vector>

#include "loader/engine/ring.h"

namespace tundish {
namespace {

constexpr std::uint64_t kBatches = 2;
constexpr std::size_t kPlaces = 2;

// The threads around one ring, each with its next call.
class Threads {
 public:
  struct Planned {
    bool of_depth;  // otherwise changes the number of active workers
    std::size_t to;
  };

  Threads(std::size_t workers, std::size_t active, const std::vector<Planned>& changes)
      : workers_(workers), changes_(changes) {
    ring_.set_active(active);
    ring_.restart([next = std::uint64_t{0}](Slot& slot) mutable {
      if (next == kBatches) return false;
      slot.places.resize(kPlaces);
      slot.next = ++next;
      return true;
    });
  }
  ~Threads() {
    for (Worker& worker : workers_) worker.task.reset();
    ring_.close();
  }

  // Thread numbers: the workers, then the trainer, then the thread that changes the settings.
  // Returns false if the thread can do nothing; the state is then unchanged.
  bool step(std::size_t thread) {
    if (thread < workers_.size()) return work(thread);
    return thread == workers_.size() ? take() : change();
  }
  std::size_t count() const { return workers_.size() + 2; }
  std::uint64_t taken() const { return taken_; }
  bool right() const { return right_; }

  // Whether a worker waits although there is a task for it. May change the ring.
  bool sleeps_too_long(std::size_t number) {
    if (number >= workers_.size() || !workers_[number].waits) return false;
    return std::holds_alternative<Ring::Task>(ring_.try_claim(number));
  }

  // State that determines the future: the task or wait of each worker, and the counts of filled,
  // taken and changed. The ring's counts follow from these.
  std::vector<std::uint64_t> state() const {
    std::vector<std::uint64_t> out{filled_, taken_, changed_};
    for (const Worker& worker : workers_) {
      if (worker.task) {
        out.push_back(10 + task_number(*worker.task));
      } else {
        out.push_back(worker.waits ? 1 + static_cast<std::uint64_t>(*worker.waits) : 0);
      }
    }
    return out;
  }

 private:
  struct Worker {
    std::optional<Ring::Task> task;
    std::optional<Ring::Blocked> waits;  // reason to wait in claim(), until notified
  };

  static std::uint64_t task_number(const Ring::Task& task) {
    return (task.slot->next - 1) * kPlaces + task.place;
  }

  bool work(std::size_t number) {
    Worker& worker = workers_[number];
    if (worker.waits) return false;
    if (worker.task) {
      worker.task->slot->places[worker.task->place].label += 1;
      filled_ |= std::uint64_t{1} << task_number(*worker.task);
      ring_.done(std::move(*worker.task));
      worker.task.reset();
      return true;
    }
    auto result = ring_.try_claim(number);
    if (auto* task = std::get_if<Ring::Task>(&result)) {
      worker.task.emplace(std::move(*task));
    } else {
      worker.waits = std::get<Ring::Blocked>(result);
    }
    return true;
  }

  bool take() {
    std::shared_ptr<Slot> slot;
    if (ring_.take(slot, std::chrono::nanoseconds(0)) != Ring::Taken::batch) return false;
    right_ = right_ && slot->next == ++taken_ && slot->places.size() == kPlaces;
    for (const Place& place : slot->places) right_ = right_ && place.label == 0;  // filled once
    wake(Ring::Blocked::no_work);
    return true;
  }

  bool change() {
    if (changed_ == changes_.size()) return false;
    const Planned& planned = changes_[changed_++];
    planned.of_depth ? ring_.set_depth(planned.to) : ring_.set_active(planned.to);
    wake(planned.of_depth ? Ring::Blocked::no_work : Ring::Blocked::not_active);
    return true;
  }

  void wake(Ring::Blocked reason) {
    for (Worker& worker : workers_) {
      if (worker.waits == reason) worker.waits.reset();
    }
  }

  Ring ring_{1};
  std::vector<Worker> workers_;
  std::vector<Planned> changes_;
  std::size_t changed_ = 0;
  std::uint64_t taken_ = 0, filled_ = 0;
  bool right_ = true;
};

struct Result {
  std::set<std::vector<std::uint64_t>> states;  // seen
  std::uint64_t ends = 0, wrong = 0, stuck = 0, asleep = 0;
};

using Begin = std::function<std::unique_ptr<Threads>()>;

std::unique_ptr<Threads> after(const Begin& begin, const std::vector<std::size_t>& order) {
  auto threads = begin();
  for (const std::size_t thread : order) threads->step(thread);
  return threads;
}

// Explores all orders up to states seen before. Each order starts from the beginning because a
// ring cannot be copied.
void walk(const Begin& begin, std::vector<std::size_t>& order, Result& result) {
  const std::size_t count = begin()->count();
  bool any = false;
  for (std::size_t thread = 0; thread < count; ++thread) {
    const auto threads = after(begin, order);
    if (!threads->step(thread)) continue;
    any = true;
    if (!threads->right()) ++result.wrong;
    if (!threads->right() || !result.states.insert(threads->state()).second) continue;
    order.push_back(thread);
    for (std::size_t worker = 0; worker < count; ++worker) {
      result.asleep += after(begin, order)->sleeps_too_long(worker);
    }
    walk(begin, order, result);
    order.pop_back();
  }
  if (any) return;
  ++result.ends;
  if (after(begin, order)->taken() != kBatches) ++result.stuck;
}

Result walk_all(std::size_t workers, std::size_t active,
                const std::vector<Threads::Planned>& changes) {
  Result result;
  std::vector<std::size_t> order;
  walk([&] { return std::make_unique<Threads>(workers, active, changes); }, order, result);
  return result;
}

}  // namespace

TEST_CASE("ring: every order of calls gives whole batches, and no worker sleeps too long") {
  using Changes = std::vector<Threads::Planned>;
  const Changes fewer{{false, 1}}, more{{false, 2}}, deeper{{true, 2}},
      away_and_back{{false, 1}, {false, 2}};
  const Changes all{{false, 1}, {true, 2}, {false, 3}, {true, 1}, {false, 2}};
  for (const Changes& changes : {fewer, more, deeper, away_and_back, all}) {
    for (const std::size_t active : {std::size_t{1}, std::size_t{2}, std::size_t{3}}) {
      CAPTURE(changes.size());
      CAPTURE(changes.front().to);
      CAPTURE(active);
      const Result result = walk_all(3, active, changes);
      CHECK(result.states.size() > 20);
      CHECK(result.ends > 0);
      CHECK(result.wrong == 0);
      CHECK(result.stuck == 0);
      CHECK(result.asleep == 0);
    }
  }
}

}  // namespace tundish
