#include "loader/monitor/meter.h"

#include <doctest/doctest.h>

#include <deque>

#include "base/clock.h"

using namespace tundish;

TEST_CASE("shares of stages add up to at most one, however long the timed samples took") {
  Meter meter;
  const std::uint64_t begin = now_ns() - 1'000'000'000;  // one thread, for one second so far
  meter.start(begin);
  meter.set_threads(1, begin);
  std::deque<WorkerStatus> workers(1);
  WorkerStatus trainer;
  workers[0].read_ns.add(1'000'000'000);
  workers[0].decode_ns.add(2'000'000'000);
  workers[0].augment_ns.add(5'000'000'000);
  const LoaderStats stats = meter.stats(workers, trainer);
  CHECK(stats.read_busy == doctest::Approx(0.125).epsilon(0.01));
  CHECK(stats.decode_busy == doctest::Approx(0.25).epsilon(0.01));
  CHECK(stats.augment_busy == doctest::Approx(0.625).epsilon(0.01));
  CHECK(stats.decode_s == doctest::Approx(2));  // sums are not scaled

  workers[0].read_ns.add(10'000'000'000);  // in the next window, which has just begun
  meter.new_window(stats);
  CHECK(meter.stats(workers, trainer).read_busy == doctest::Approx(1).epsilon(0.01));
}

TEST_CASE("the share of a stage is its part of the threads' time") {
  Meter meter;
  const std::uint64_t begin = now_ns() - 10'000'000'000;
  meter.start(begin);
  meter.set_threads(1, begin);
  std::deque<WorkerStatus> workers(1);
  WorkerStatus trainer;
  workers[0].decode_ns.add(1'000'000'000);
  const LoaderStats stats = meter.stats(workers, trainer);
  CHECK(stats.decode_busy > 0);
  CHECK(stats.decode_busy <= 0.1);
  CHECK(stats.read_busy == 0);
}
