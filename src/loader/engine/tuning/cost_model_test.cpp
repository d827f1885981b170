#include "loader/engine/tuning/cost_model.h"

#include <doctest/doctest.h>

namespace tundish {

TEST_CASE("costs: of 100 samples that decode for 2 ms and wait 6 ms for storage") {
  const SampleCosts costs =
      costs_of({.seconds = 0.2, .samples = 100, .read_s = 0.65, .work_s = 0.2, .cpu_s = 0.25});
  CHECK(costs.cpu_s == doctest::Approx(0.0025));
  CHECK(costs.blocked_s == doctest::Approx(0.006));  // reading used half a millisecond of CPU time
  CHECK(costs.no_cpu_s == 0);
}

TEST_CASE("costs: work that takes longer than its CPU time waited for CPUs") {
  const SampleCosts costs = costs_of({.seconds = 1, .samples = 10, .work_s = 0.4, .cpu_s = 0.2});
  CHECK(costs.no_cpu_s == doctest::Approx(0.02));
  CHECK(costs.blocked_s == 0);
}

TEST_CASE("costs: nothing is known of no samples") {
  CHECK(costs_of({.seconds = 1, .work_s = 1}).thread_s() == 0);
  CHECK(CostModel{}.threads_for(1000) == 1);
}

TEST_CASE("the model: workers, then CPUs, then what storage was seen to give") {
  CostModel model{{.cpu_s = 0.002, .blocked_s = 0.006}};
  CHECK(model.rate(1, 4) == doctest::Approx(125));
  CHECK(model.rate(8, 4) == doctest::Approx(1000));
  CHECK(model.rate(100, 4) == doctest::Approx(2000));
  CHECK(model.threads_for(model.most(4)) == 16);
  model.limit = 800;
  CHECK(model.rate(100, 4) == doctest::Approx(800));
  CHECK(model.threads_for(model.most(4)) == 7);
}

TEST_CASE("costs differ: by more than a third, either way") {
  CHECK_FALSE(costs_differ({.cpu_s = 1}, {.cpu_s = 1.3}));
  CHECK(costs_differ({.cpu_s = 1}, {.cpu_s = 1.4}));
  CHECK(costs_differ({.cpu_s = 1.4}, {.cpu_s = 1}));
}

}  // namespace tundish
