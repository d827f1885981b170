#include "loader/engine/gpu/decode_choice.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <set>
#include <string>

#include "base/error.h"

namespace tundish {
namespace {

// A GPU that runs behind the host by some time.
struct FakeClock : cuda::StreamClock {
  explicit FakeClock(const double& host_ms) : host_ms(host_ms) {}
  std::size_t mark(void*) override {
    if (breaks) throw Error(ErrorCode::gpu, {}, "the GPU is gone");
    marks.push_back(host_ms);
    return marks.size() - 1;
  }
  bool passed(std::size_t mark) override { return marks.at(mark) <= host_ms - 150; }
  double ms_between(std::size_t from, std::size_t to) override {
    CHECK(passed(to));
    return marks.at(to) - marks.at(from);
  }
  const double& host_ms;
  std::vector<double> marks;
  bool breaks = false;
};

// Indexed by decoder: [0] the CPU, [1] the GPU.
using Pair = std::array<double, 2>;
const Pair kStep = {30.0, 30.9};  // decoding on the GPU takes 3 % of a step

// A training that reads from a ring of batches. A batch takes `make` ms, `burst` batches at a time.
class Training {
 public:
  Training(Pair make, int prefetch, std::array<int, 2> burst = {1, 1})
      : make_(make),
        prefetch_(static_cast<std::size_t>(prefetch)),
        burst_(burst),
        clock_(new FakeClock(now_)),
        choice_(std::unique_ptr<cuda::StreamClock>(clock_), prefetch) {
    fill();
  }

  // Returns the chosen decoder. At each step of `pauses` the program pauses.
  bool choose(const std::set<int>& pauses = {}) {
    for (int step = 0; step < 600; ++step) {
      now_ = std::max(now_, made_.front().when);
      const bool on_gpu = made_.front().on_gpu;
      made_.pop_front();
      fill();
      reason_ = choice_.delivered(on_gpu, ready(), nullptr);
      now_ += kStep[on_gpu] + (pauses.contains(step) ? 20'000 : 0);
      if (!choice_.chosen()) continue;
      REQUIRE(reason_);
      CHECK(choice_.use_gpu() == *choice_.chosen());
      CHECK_FALSE(choice_.delivered(on_gpu, 0, nullptr));
      return *choice_.chosen();
    }
    FAIL("not chosen");
    return false;
  }

  double steps() const { return now_ / 30; }
  const std::string& reason() const { return *reason_; }
  void break_clock() { clock_->breaks = true; }

 private:
  struct Made {
    double when;
    bool on_gpu;
  };
  void fill() {
    while (made_.size() < prefetch_) {
      const bool on_gpu = choice_.use_gpu();
      busy_until_ = std::max(busy_until_, now_) + burst_[on_gpu] * make_[on_gpu];
      for (int i = 0; i < burst_[on_gpu]; ++i) made_.push_back({busy_until_, on_gpu});
    }
  }
  std::size_t ready() const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < prefetch_; ++i) count += made_[i].when <= now_;
    return count;
  }

  const Pair make_;
  const std::size_t prefetch_;
  const std::array<int, 2> burst_;
  double now_ = 0, busy_until_ = 0;
  std::deque<Made> made_;  // open or ready, in order
  FakeClock* clock_;
  DecodeChoice choice_;
  std::optional<std::string> reason_;
};

}  // namespace

TEST_CASE("decode=auto: a CPU that does not keep up is found, whatever was made ahead") {
  for (const int prefetch : {1, 2, 4, 8, 16}) {
    for (const double share : {0.4, 0.6, 0.8, 0.9}) {
      CAPTURE(prefetch);
      CAPTURE(share);
      Training training({30 / share, 5}, prefetch);
      CHECK(training.choose({0}));
      CHECK(training.reason().find("from now on the GPU does") != std::string::npos);
    }
  }
}

TEST_CASE("decode=auto: a CPU that keeps up spares the GPU") {
  for (const int prefetch : {1, 4, 16}) {
    for (const double share : {1.05, 1.5, 4.0}) {
      CAPTURE(prefetch);
      CAPTURE(share);
      Training training({30 / share, 5}, prefetch);
      CHECK_FALSE(training.choose({0, 3, 40}));
      CHECK(training.reason().find("30.00 ms when the CPU does") != std::string::npos);
    }
  }
}

TEST_CASE("decode=auto: batches that come in bursts do not look quick") {
  CHECK_FALSE(Training({45, 120}, 4, {1, 4}).choose());
}

TEST_CASE("decode=auto: the choice takes some hundred batches at most") {
  using Choice = DecodeChoice;
  const int blocks = 2 * Choice::kBlocks;
  Training quick({10, 5}, 4);
  quick.choose();
  CHECK(quick.steps() < blocks * (Choice::kMeasured + Choice::kSettle + 8) + 40);
  Training slow({31, 5}, 16);
  slow.choose();
  CHECK(slow.steps() < blocks * (Choice::kMeasured + Choice::kLongest + 20) + 40);
}

TEST_CASE("decode=auto: without a clock the CPU decodes, and the reason is given") {
  Training training({10, 5}, 4);
  training.break_clock();
  CHECK_FALSE(training.choose());
  CHECK(training.reason().find("not measured (the GPU is gone)") != std::string::npos);
}

}  // namespace tundish
