#include "loader/engine/tuning/tuning_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace tundish {
namespace {

constexpr double kWaits = 0.03;           // share of the wall time: the trainer waits
constexpr double kWaitsMuch = 0.10;       // a trial with fewer workers is reverted at once
constexpr double kMinPromise = 1.05;      // minimum predicted rate over the current rate
constexpr double kMinGain = 0.03;         // minimum gain for keeping more workers
constexpr double kGoodGain = 0.05;        // gain that suffices whatever was predicted
constexpr double kShareOfPromise = 0.25;  // share of the predicted gain that suffices
constexpr double kAsPromised = 0.6;       // share of the predicted gain: kept without more windows
constexpr double kMaxLoss = 0.03;         // maximum loss for keeping fewer workers
constexpr double kLossAtOnce = 0.08;      // loss at which a trial is reverted at once
constexpr double kIdle = 0.03;          // idle share of the workers' time, while the trainer waits
constexpr double kBusy = 0.8;           // share of the workers' time that the demand may take
constexpr double kFewer = 0.8;          // maximum share of the workers kept if storage is the limit
constexpr double kSpareReads = 1.1;     // workers over those that storage keeps busy
constexpr double kShortOfCpus = 0.25;   // share of the workers' time: no more workers are tried
constexpr double kTrainerSlack = 0.25;  // CPU use of the trainer that costs no worker
constexpr double kSmallStep = 1.1, kLargeStep = 4;       // workers of a trial over the current ones
constexpr double kFirstPause = 10, kLongestPause = 320;  // seconds

}  // namespace

TuningRule::TuningRule(int threads, TuningLimits limits, int open_batches)
    : threads_(std::clamp(threads, 1, std::max(1, limits.most_threads))),
      open_(open_batches),
      limits_(limits),
      more_pause_(kFirstPause),
      fewer_pause_(kFirstPause),
      deeper_pause_(kFirstPause) {}

std::optional<TuningChange> TuningRule::observe(const TuningWindow& window,
                                                const TuningLimits& limits) {
  now_ += window.seconds;
  if (limits.cpus != limits_.cpus || limits.most_threads != limits_.most_threads) {
    return new_budget(limits);
  }
  if (settle_ > 0) {
    --settle_;
    return {};
  }
  windows_.push_back(window);
  if (windows_.size() > kMany) windows_.pop_front();
  return trial_ ? judge() : consider(limits);
}

std::optional<TuningChange> TuningRule::new_budget(const TuningLimits& limits) {
  const double before = std::exchange(limits_, limits).cpus;
  forget();
  trial_.reset();
  windows_.clear();
  settle_ = kSettle;
  // More CPUs are used only if the trainer waits; fewer CPUs apply at once.
  const int cpus = static_cast<int>(std::ceil(limits.cpus));
  const int most = limits.cpus < before ? cpus : limits.most_threads;
  const int threads = std::clamp(threads_, 1, std::max(1, std::min(most, limits.most_threads)));
  if (threads == threads_) return {};
  return change_to(threads, open_, 0, 0,
                   fmt::format("the budget changed from {:g} to {:g} CPUs", before, limits.cpus));
}

std::optional<TuningChange> TuningRule::judge() {
  const TuningWindow since = sum_of_windows();
  const Verdict verdict = verdict_on(since, windows_.size());
  if (verdict == Verdict::open) return {};
  if (trial_->predicted > 0) prediction_ratio_ = since.rate() / trial_->predicted;
  if (verdict == Verdict::take_back) return take_back(since);
  if (trial_->direction == Direction::more) {
    // Delays the opposite change, because two similar loads would otherwise alternate.
    fewer_after_ = now_ + fewer_pause_;
    fewer_pause_ = std::min(2 * fewer_pause_, kLongestPause);
    step_ = std::min(2 * step_, kLargeStep);
  } else if (trial_->direction != Direction::deeper &&
             since.rate() > (1 + kMinGain) * trial_->rate) {
    // Too many workers were harmful: the best number is near, so it is searched in small steps.
    step_ = kSmallStep;
    more_after_ = now_;
  }
  trial_.reset();
  windows_.clear();
  return {};
}

TuningRule::Verdict TuningRule::verdict_on(const TuningWindow& since, std::size_t windows) const {
  if (trial_->direction == Direction::more) return verdict_on_more(since, windows);
  if (trial_->direction == Direction::deeper) return verdict_on_deeper(since, windows);
  const double gain = since.rate() / trial_->rate - 1;
  const bool for_demand = trial_->direction == Direction::fewer_for_demand;
  const bool much = for_demand ? since.wait_share() > kWaitsMuch : gain < -kLossAtOnce;
  if (much) return Verdict::take_back;
  if (windows < kMany) return Verdict::open;
  const bool good = for_demand ? since.wait_share() <= kWaits : gain >= -kMaxLoss;
  return good ? Verdict::keep : Verdict::take_back;
}

TuningRule::Verdict TuningRule::verdict_on_more(const TuningWindow& since,
                                                std::size_t windows) const {
  const double gain = since.rate() / trial_->rate - 1;
  const double promised = trial_->predicted / trial_->rate - 1;
  if (gain >= kAsPromised * promised && gain >= kMinGain) return Verdict::keep;
  if (gain < -kLossAtOnce && since.wait_share() > kWaits) return Verdict::take_back;
  if (windows < kMany) return Verdict::open;
  const bool enough = gain >= std::clamp(kShareOfPromise * promised, kMinGain, kGoodGain);
  return enough || since.wait_share() <= kWaits ? Verdict::keep : Verdict::take_back;
}

// More open batches cost only memory, which is available: a small gain is enough.
TuningRule::Verdict TuningRule::verdict_on_deeper(const TuningWindow& since,
                                                  std::size_t windows) const {
  if (windows < kMany) return Verdict::open;
  const double gain = since.rate() / trial_->rate - 1;
  const double promised = trial_->predicted / trial_->rate - 1;
  return gain >= kShareOfPromise * promised || since.wait_share() <= kWaits ? Verdict::keep
                                                                            : Verdict::take_back;
}

TuningChange TuningRule::take_back(const TuningWindow& since) {
  const Trial trial = *std::exchange(trial_, std::nullopt);
  std::string reason;
  if (trial.direction == Direction::more) {
    model_.limit = std::max(since.rate(), trial.rate);
    more_after_ = now_ + more_pause_;
    more_pause_ = std::min(2 * more_pause_, kLongestPause);
    step_ = std::max(kSmallStep, step_ / 2);
    reason = fmt::format("{} workers gave {:.0f} samples/s, not the predicted {:.0f}", threads_,
                         since.rate(), trial.predicted);
  } else if (trial.direction == Direction::deeper) {
    deeper_after_ = now_ + deeper_pause_;
    deeper_pause_ = std::min(2 * deeper_pause_, kLongestPause);
    reason = fmt::format("{} open batches gave {:.0f} samples/s, not the predicted {:.0f}", open_,
                         since.rate(), trial.predicted);
  } else {
    fewer_after_ = now_ + fewer_pause_;
    fewer_pause_ = std::min(2 * fewer_pause_, kLongestPause);
    reason = fmt::format("with {} workers the trainer waited {:.0f} % of the time", threads_,
                         100 * since.wait_share());
  }
  return change_to(trial.from, trial.open_from, since.rate(), trial.rate, std::move(reason));
}

std::optional<TuningChange> TuningRule::consider(const TuningLimits& limits) {
  const TuningWindow recent = sum_of_windows();
  if (windows_.size() < kFew || recent.samples <= 0) return {};
  const double limit = now_ >= more_after_ ? CostModel::kNoLimit : model_.limit;
  model_ = {costs_of(recent), limit};
  // By number of workers: workers that share a core cost more each, which is not a new load.
  const auto known = known_costs_.try_emplace(threads_, model_.costs).first;
  if (costs_differ(known->second, model_.costs)) forget();
  const double others = std::max(0.0, recent.other_cpu_s / recent.seconds - kTrainerSlack);
  const double cpus = std::max(std::min(1.0, limits.cpus), limits.cpus - others);
  const int cap = std::min(model_.threads_for(model_.most(cpus)), limits.most_threads);
  const int deeper = deeper_for(recent, limits.most_open);
  if (auto change = consider_more(recent, cpus, cap, deeper)) return change;
  if (auto change = consider_deeper(recent, deeper)) return change;
  return windows_.size() < kMany ? std::nullopt : consider_fewer(recent, cpus, cap);
}

std::optional<TuningChange> TuningRule::consider_more(const TuningWindow& recent, double cpus,
                                                      int cap, int deeper) {
  if (recent.wait_share() <= kWaits || now_ < more_after_) return {};
  const SampleCosts& costs = model_.costs;
  const double short_of_cpus = costs.no_cpu_s / (costs.no_cpu_s + costs.thread_s());
  if (short_of_cpus > kShortOfCpus && threads_ >= cpus) return {};
  const int wanted = std::min(cap, static_cast<int>(std::ceil(step_ * threads_)));
  const double predicted = model_.rate(wanted, cpus) * (1 - recent.idle_share(threads_));
  if (wanted <= threads_ || predicted < kMinPromise * recent.rate()) return {};
  const double blocked = costs.blocked_s / costs.thread_s();
  return begin(Direction::more, wanted, deeper, recent, predicted,
               fmt::format("the trainer waits {:.0f} % of the time; a worker waits for storage "
                           "{:.0f} % of the time",
                           100 * recent.wait_share(), 100 * blocked));
}

// Both wait: the oldest batch lacks a slow sample while all batches behind it are full, or the
// trainer takes batches in bursts. More open batches help; more workers do not.
int TuningRule::deeper_for(const TuningWindow& recent, int most_open) const {
  const bool both_wait = recent.wait_share() > kWaits && recent.idle_share(threads_) > kIdle;
  if (!both_wait || now_ < deeper_after_) return open_;
  return std::max(open_, std::min(2 * open_, most_open));
}

std::optional<TuningChange> TuningRule::consider_deeper(const TuningWindow& recent, int deeper) {
  if (deeper == open_) return {};
  const double idle = recent.idle_share(threads_);
  const double saved = std::min({idle, recent.wait_share(), 0.9});
  return begin(Direction::deeper, threads_, deeper, recent, recent.rate() / (1 - saved),
               fmt::format("the trainer waits {:.0f} % of the time, and workers have nothing to do "
                           "{:.0f} % of the time",
                           100 * recent.wait_share(), 100 * idle));
}

std::optional<TuningChange> TuningRule::consider_fewer(const TuningWindow& recent, double cpus,
                                                       int cap) {
  if (now_ < fewer_after_) return {};
  const auto waits = [](const TuningWindow& one) { return one.wait_share() > kWaits; };
  if (std::none_of(windows_.begin(), windows_.end(), waits)) {
    const int needed = std::max(1, static_cast<int>(std::ceil(recent.busy() / kBusy)));
    if (needed >= threads_) return {};
    return begin(
        Direction::fewer_for_demand, needed, open_, recent, recent.rate(),
        fmt::format("the trainer takes {:.0f} samples/s, for which {:.1f} workers are busy",
                    recent.rate(), recent.busy()));
  }
  if (const int enough = enough_for_storage(); enough < kFewer * threads_) {
    return begin(
        Direction::fewer_cpus, enough, open_, recent, recent.rate(),
        fmt::format("storage gives {:.0f} samples/s, for which {} reads at once are enough",
                    model_.limit, enough));
  }
  // If workers wait for storage, the time of a read depends on the number of workers.
  const bool blocks = model_.costs.blocked_s > 0.1 * model_.costs.cpu_s;
  if (cap >= threads_ || (blocks && cap > kFewer * threads_)) return {};
  if (model_.rate(cap, cpus) < (1 - kMaxLoss) * recent.rate()) return {};
  return begin(
      Direction::fewer_cpus, cap, open_, recent, recent.rate(),
      fmt::format("{:.1f} CPUs are left beside the {:.1f} that the rest of the process uses", cpus,
                  recent.other_cpu_s / recent.seconds));
}

// After more workers brought no gain, returns the workers needed for that rate if reads took as
// long as with fewer workers, without the queue. Some storage is slower under more reads.
int TuningRule::enough_for_storage() const {
  if (model_.limit == CostModel::kNoLimit) return threads_;
  CostModel unhurried = model_;
  for (const auto& [threads, costs] : known_costs_) {
    if (threads < threads_ && costs.thread_s() < unhurried.costs.thread_s()) {
      unhurried.costs = costs;
    }
  }
  return std::max(1, unhurried.threads_for(kSpareReads * model_.limit));
}

TuningChange TuningRule::begin(Direction direction, int threads, int open,
                               const TuningWindow& recent, double predicted, std::string reason) {
  trial_ = Trial{direction, threads_, open_, recent.rate(), predicted};
  return change_to(threads, open, recent.rate(), predicted, std::move(reason));
}

TuningChange TuningRule::change_to(int threads, int open, double rate, double predicted,
                                   std::string reason) {
  windows_.clear();
  settle_ = kSettle;
  return {.from = std::exchange(threads_, threads),
          .threads = threads,
          .open_from = std::exchange(open_, open),
          .open_batches = open,
          .rate = rate,
          .predicted = predicted,
          .reason = std::move(reason)};
}

TuningWindow TuningRule::sum_of_windows() const {
  TuningWindow sum;
  for (const TuningWindow& one : windows_) sum.add(one);
  return sum;
}

void TuningRule::forget() {
  model_.limit = CostModel::kNoLimit;
  known_costs_.clear();
  step_ = kLargeStep;
  more_after_ = fewer_after_ = deeper_after_ = now_;
  more_pause_ = fewer_pause_ = deeper_pause_ = kFirstPause;
}

}  // namespace tundish
