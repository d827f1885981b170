#include "loader/engine/tuning/tuning_rule.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/testing.h"
#include "loader/engine/tuning/simulated_loader.h"

namespace tundish {
namespace {

constexpr double kWindow = 0.25;  // seconds
constexpr int kOpen = 4;          // initial number of open batches

// A rule applied to a load, which a test may change at any time.
class Training {
 public:
  explicit Training(SimulatedLoad on, std::uint64_t seed = 1)
      : load(on), rule_(static_cast<int>(std::ceil(on.cpus)), on.limits(), kOpen), random_(seed) {}

  SimulatedLoad load;

  void run(double seconds) {
    const double best = load.best();
    double rate = load.rate(rule_.threads(), rule_.open_batches());
    for (double t = 0; t < seconds; t += kWindow) {
      rates_.push_back(rate / best);
      const TuningWindow window =
          load.window(rule_.threads(), rule_.open_batches(), kWindow, random_);
      if (auto change = rule_.observe(window, load.limits())) {
        changes_.push_back(*change);
        rate = load.rate(rule_.threads(), rule_.open_batches());
      }
    }
  }
  // Share of the best fixed rate since second `from`.
  double share_since(double from) const { return mean(index(from), rates_.size()); }
  // Share of the best fixed rate in the worst two seconds.
  double worst_since(double from) const {
    const std::size_t length = index(2);
    double worst = 1;
    for (std::size_t i = index(from); i + length <= rates_.size(); ++i) {
      worst = std::min(worst, mean(i, i + length));
    }
    return worst;
  }
  int threads() const { return rule_.threads(); }
  int open_batches() const { return rule_.open_batches(); }
  const TuningRule& rule() const { return rule_; }
  const std::vector<TuningChange>& changes() const { return changes_; }

 private:
  static std::size_t index(double seconds) { return static_cast<std::size_t>(seconds / kWindow); }
  double mean(std::size_t first, std::size_t last) const {
    double sum = 0;
    for (std::size_t i = first; i < last; ++i) sum += rates_[i];
    return sum / static_cast<double>(last - first);
  }

  TuningRule rule_;
  std::mt19937_64 random_;
  std::vector<double> rates_;
  std::vector<TuningChange> changes_;
};

SimulatedLoad random_load(std::mt19937_64& random) {
  const auto between = [&](double low, double high) {  // log-uniform
    return low * std::pow(high / low, std::uniform_real_distribution<double>()(random));
  };
  const auto chance = [&](double p) {
    return std::uniform_real_distribution<double>()(random) < p;
  };
  SimulatedLoad load;
  load.cpus = std::round(between(1, 32));
  if (chance(0.2)) load.cpus += 0.5;  // like a quota
  load.most_threads = static_cast<int>(std::min(64.0, std::ceil(32 * load.cpus)));
  load.cpu_s = between(1e-4, 2e-2);
  if (chance(0.6)) {
    load.latency_s = load.cpu_s * between(0.1, 50);
    load.reads_at_once = between(1, 200);
  }
  if (chance(0.6)) load.demand = load.best() * between(0.02, 3);
  if (chance(0.3)) load.trainer_cpu_s = load.cpu_s * between(0.01, 1);
  if (chance(0.3)) load.shared_cores = between(0.05, 0.7);
  if (chance(0.3)) load.per_extra_thread = between(0.0001, 0.002);
  if (chance(0.3)) load.waits_for_oldest = between(0.05, 0.95);
  if (chance(0.5)) load.most_open = 16;
  if (chance(0.5)) load.noise = between(0.005, 0.05);
  return load;
}

}  // namespace

TEST_CASE("tuning: decoding is the limit, and the CPUs are what is used") {
  Training training({.cpus = 8, .cpu_s = 0.002});
  training.run(60);
  CHECK(training.threads() == 8);
  CHECK(training.changes().empty());
}

TEST_CASE("tuning: storage is the limit, and more workers read at once") {
  Training training(
      {.cpus = 4, .most_threads = 64, .cpu_s = 5e-4, .latency_s = 0.02, .reads_at_once = 48});
  training.run(60);
  CHECK(training.threads() >= 45);
  CHECK(training.share_since(5) > 0.95);
  CHECK(training.worst_since(5) > 0.90);
  CHECK(training.rule().prediction_ratio() > 0.5);
}

TEST_CASE("tuning: storage that serves few reads at once gets no flood of workers") {
  Training training(
      {.cpus = 4, .most_threads = 64, .cpu_s = 1e-4, .latency_s = 0.01, .reads_at_once = 4});
  training.run(300);
  CHECK(training.threads() <= 8);
  CHECK(training.share_since(5) > 0.95);
  REQUIRE(training.changes().size() >= 2);  // tried and reverted
  CHECK(training.changes()[1].threads == training.changes()[0].from);
  CHECK(training.changes()[1].reason.find("not the predicted") != std::string::npos);
}

TEST_CASE("tuning: storage that is slower when asked for more gets as many reads as it serves") {
  Training training({.cpus = 2,
                     .most_threads = 64,
                     .cpu_s = 1e-4,
                     .latency_s = 0.02,
                     .slower_when_asked = 0.03,
                     .reads_at_once = 24});
  training.run(60);
  CHECK(training.threads() >= 23);
  CHECK(training.threads() <= 27);
  CHECK(training.share_since(10) > 0.90);
}

TEST_CASE("tuning: workers that wait for the oldest batch get more open batches") {
  const SimulatedLoad load{
      .cpus = 4, .most_threads = 4, .cpu_s = 0.002, .most_open = 16, .waits_for_oldest = 0.9};
  Training training(load);
  training.run(60);
  CHECK(training.open_batches() == 16);
  CHECK(training.threads() == 4);
  CHECK(training.share_since(5) > 0.95);
  REQUIRE(!training.changes().empty());
  CHECK(training.changes()[0].open_from == kOpen);
  CHECK(training.changes()[0].open_batches == 2 * kOpen);
  CHECK(training.changes()[0].predicted > training.changes()[0].rate);

  Training limited(SimulatedLoad{.cpus = 4, .cpu_s = 0.002, .waits_for_oldest = 0.9});
  limited.run(60);
  CHECK(limited.open_batches() == kOpen);  // memory has room for no more
}

TEST_CASE("tuning: open batches that gain nothing are given back, and tried ever more seldom") {
  SimulatedLoad load{.cpus = 4, .most_threads = 4, .cpu_s = 0.002, .most_open = 16};
  TuningRule rule(4, load.limits(), kOpen);
  std::mt19937_64 random(1);
  int changes = 0;
  for (int i = 0; i < 4 * 300; ++i) {
    TuningWindow window = load.window(4, kOpen, kWindow, random);
    window.work_s *= 0.7;  // the meter misses the rest of the workers' time
    window.cpu_s *= 0.7;
    changes += rule.observe(window, load.limits()).has_value();
  }
  CHECK(rule.open_batches() == kOpen);
  CHECK(changes >= 4);
  CHECK(changes <= 12);
}

TEST_CASE("tuning: the trainer is the limit, and gets the CPUs that it does not need") {
  Training training({.cpus = 16, .cpu_s = 0.002, .demand = 1000});  // 2 busy workers
  training.run(30);
  CHECK(training.threads() == 3);
  CHECK(training.changes().size() == 1);
  CHECK(training.share_since(0) == doctest::Approx(1));
}

TEST_CASE("tuning: a trainer that becomes faster gets more workers within two seconds") {
  Training training({.cpus = 16, .cpu_s = 0.002, .demand = 1000});
  training.run(30);
  training.load.demand = 6000;
  training.run(10);
  CHECK(training.share_since(32) > 0.95);
}

TEST_CASE("tuning: a smaller quota is kept to at once, a larger one is used within 5 s") {
  Training training({.cpus = 8, .cpu_s = 0.002, .per_extra_thread = 0.02});
  training.run(20);
  training.load.cpus = 1.5;
  training.run(20);
  CHECK(training.threads() == 2);
  CHECK(training.share_since(25) > 0.95);
  CHECK(training.worst_since(25) > 0.90);
  training.load.cpus = 6;
  training.run(20);
  CHECK(training.threads() == 6);
  CHECK(training.share_since(45) > 0.95);
  CHECK(training.changes().front().reason == "the budget changed from 8 to 1.5 CPUs");
}

TEST_CASE("tuning: a trainer that computes on the CPU keeps its cores") {
  Training training({.cpus = 8, .cpu_s = 0.001, .trainer_cpu_s = 0.001});
  training.run(60);
  CHECK(training.threads() <= 5);
  CHECK(training.share_since(5) > 0.95);
}

TEST_CASE("tuning: noise and hiccups change little") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    Training training({.cpus = 8, .cpu_s = 0.002, .demand = 3900, .noise = 0.1, .hiccups = 0.05},
                      seed);
    training.run(600);
    CHECK(training.share_since(5) > 0.95);
    CHECK(training.changes().size() <= 24);
  }
}

TEST_CASE("tuning: random loads settle within 5 s on 95 %, stay above 90 %, and change seldom") {
  std::mt19937_64 random(test_seed());
  int missed = 0;
  for (int i = 0; i < 200; ++i) {
    const SimulatedLoad load = random_load(random);
    Training training(load, random());
    training.run(300);
    CAPTURE(i);
    CAPTURE(load.cpus);
    CAPTURE(load.most_threads);
    CAPTURE(load.cpu_s);
    CAPTURE(load.latency_s);
    CAPTURE(load.reads_at_once);
    CAPTURE(load.demand);
    CAPTURE(load.trainer_cpu_s);
    CAPTURE(load.shared_cores);
    CAPTURE(load.per_extra_thread);
    CAPTURE(load.noise);
    CAPTURE(load.waits_for_oldest);
    CAPTURE(load.most_open);
    CAPTURE(training.open_batches());
    CAPTURE(training.threads());
    CHECK(training.changes().size() <= 24);
    const bool good = training.share_since(5) > 0.95 && training.worst_since(5) > 0.90;
    // Two settings that each lose less than 5 % are left unchanged.
    if (load.noise == 0) CHECK((good || load.waits_for_oldest > 0));
    if (load.noise == 0) CHECK(training.share_since(5) > 0.92);
    if (!good) ++missed;
    CHECK(training.worst_since(5) > 0.75);
  }
  // Noise of three standard deviations may revert a good change for ten seconds: seen with 2 of
  // 90,000 loads.
  CHECK(missed <= 2);
}

TEST_CASE("tuning: the same windows give the same changes, within the limits") {
  std::mt19937_64 random(test_seed());
  for (int i = 0; i < 50; ++i) {
    const SimulatedLoad load = random_load(random);
    Training one(load, 7), other(load, 7);
    one.run(60);
    other.run(60);
    REQUIRE(one.changes().size() == other.changes().size());
    int threads = static_cast<int>(std::ceil(load.cpus));
    for (std::size_t k = 0; k < one.changes().size(); ++k) {
      CHECK(one.changes()[k].threads == other.changes()[k].threads);
      CHECK(one.changes()[k].from == threads);
      threads = one.changes()[k].threads;
      CHECK(threads >= 1);
      CHECK(threads <= load.most_threads);
    }
  }
}

}  // namespace tundish
