#include "loader/engine/tuning/tuner.h"

#include <doctest/doctest.h>

namespace tundish {
namespace {

constexpr std::uint64_t kMs = 1'000'000;

// A trainer that takes a batch of 10 samples after each step and may wait for the batch.
class Steps {
 public:
  explicit Steps(Tuner& tuner) : tuner_(tuner) {}

  // Returns the number of changes in `count` steps.
  int take(int count, std::uint64_t step_ms, std::uint64_t wait_ms) {
    int changes = 0;
    for (int i = 0; i < count; ++i) {
      const std::uint64_t begin = now_ns_ + step_ms * kMs;
      now_ns_ = begin + wait_ms * kMs;
      counts_.samples += 10;
      counts_.work_ns += 10 * kMs;
      counts_.cpu_ns += 10 * kMs;
      counts_.process_cpu_ns += 10 * kMs;
      if (!tuner_.waited(begin, now_ns_, true)) continue;
      changes += tuner_.observe(now_ns_, counts_).has_value();
    }
    return changes;
  }
  std::uint64_t now_ns() const { return now_ns_; }

 private:
  Tuner& tuner_;
  std::uint64_t now_ns_ = 1'000'000'000;
  TuningCounts counts_;
};

}  // namespace

TEST_CASE("tuner: a trainer that never waits is left with the workers that it needs") {
  Tuner tuner(8, 8, 32);
  Steps steps(tuner);
  CHECK(steps.take(200, 20, 0) == 1);
  const std::deque<TuningEntry>& entries = tuner.entries();
  REQUIRE(entries.size() == 1);
  CHECK(entries[0].change.from == 8);
  CHECK(entries[0].change.threads == 1);  // 10 ms of work in every 20 ms
  CHECK(entries[0].at_s > 1);
  CHECK(tuner.predicted_rate() == doctest::Approx(1000));
}

TEST_CASE("tuner: what a trainer does between two epochs is no demand") {
  Tuner tuner(8, 8, 32);
  Steps steps(tuner);
  for (int i = 0; i < 20; ++i) {
    CHECK(steps.take(3, 1, 2) == 0);  // the trainer waits
    CHECK(steps.take(1, 5'000, 0) == 0);
  }
  CHECK(tuner.changes() == 0);
}

TEST_CASE("tuner: steps of seconds are measured over several of them") {
  Tuner tuner(8, 8, 32);
  Steps steps(tuner);
  CHECK(steps.take(12, 3'000, 0) == 0);  // three windows
  CHECK(steps.take(20, 3'000, 0) == 1);
}

TEST_CASE("tuner: the CPUs are counted again, as the share that was the engine's") {
  Tuner tuner(4, 8, 16);
  Steps steps(tuner);
  steps.take(40, 0, 10);
  CHECK(tuner.changes() == 0);
  CHECK(tuner.counts_again(steps.now_ns()));
  tuner.set_usable(2, 1, steps.now_ns());
  CHECK_FALSE(tuner.counts_again(steps.now_ns() + kMs));
  CHECK(steps.take(40, 0, 10) == 1);
  const std::deque<TuningEntry>& entries = tuner.entries();
  REQUIRE(entries.size() == 1);
  CHECK(entries[0].change.threads == 1);
  CHECK(entries[0].change.reason == "the budget changed from 4 to 1 CPUs");
}

}  // namespace tundish
