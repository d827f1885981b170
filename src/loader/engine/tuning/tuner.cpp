#include "loader/engine/tuning/tuner.h"

#include <time.h>

#include <algorithm>

namespace tundish {
namespace {

double seconds(std::uint64_t ns) { return static_cast<double>(ns) / 1e9; }

// Returns now - before, or 0: a thread that ended takes its CPU time with it.
std::uint64_t since(std::uint64_t before, std::uint64_t now) {
  return now > before ? now - before : 0;
}

std::uint64_t read_clock(clockid_t clock) {
  timespec time{};
  if (::clock_gettime(clock, &time) != 0) return 0;
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace

TuningCounts count_work(const std::deque<WorkerStatus>& workers) {
  TuningCounts out;
  for (const WorkerStatus& status : workers) {
    out.samples += status.samples.sum();
    out.read_ns += status.read_ns.sum();
    out.work_ns += status.decode_ns.sum() + status.augment_ns.sum();
    const clockid_t clock = status.cpu_clock;
    if (clock != 0) out.cpu_ns += read_clock(clock);
  }
  out.process_cpu_ns = read_clock(CLOCK_PROCESS_CPUTIME_ID);
  return out;
}

Tuner::Tuner(int cpus, double usable, int most_threads, int open_batches)
    : share_(std::min(1.0, cpus / std::max(usable, 1.0))),
      limits_{.cpus = share_ * usable, .most_threads = most_threads},
      rule_(cpus, limits_, open_batches) {}

bool Tuner::waited(std::uint64_t begin_ns, std::uint64_t end_ns, bool received) {
  if (last_ns_ > 0) away_ns_ = std::max(away_ns_, since(last_ns_, begin_ns));
  last_ns_ = end_ns;
  wait_ns_ += end_ns - begin_ns;
  batches_ += received ? 1 : 0;
  if (begin_ns_ == 0) return true;  // the first window begins
  if (end_ns < begin_ns_ + kWindowNs) return false;
  // With long steps, requires enough batches to rule out that the trainer was away once.
  return batches_ >= kBatches || 2 * wait_ns_ >= end_ns - begin_ns_;
}

void Tuner::set_usable(double usable, int most_open, std::uint64_t now_ns) {
  counted_ns_ = now_ns;
  limits_.most_open = most_open;
  limits_.cpus = share_ * usable;
}

std::optional<TuningChange> Tuner::observe(std::uint64_t now_ns, const TuningCounts& counts) {
  if (started_ns_ == 0) started_ns_ = now_ns;
  const TuningWindow window{
      .seconds = seconds(since(begin_ns_, now_ns)),
      .samples = static_cast<double>(since(before_.samples, counts.samples)),
      .read_s = seconds(since(before_.read_ns, counts.read_ns)),
      .work_s = seconds(since(before_.work_ns, counts.work_ns)),
      .cpu_s = seconds(since(before_.cpu_ns, counts.cpu_ns)),
      .wait_s = seconds(wait_ns_),
      .other_cpu_s = seconds(since(since(before_.cpu_ns, counts.cpu_ns),
                                   since(before_.process_cpu_ns, counts.process_cpu_ns)))};
  const bool was_away = 2 * away_ns_ > since(begin_ns_, now_ns);
  const bool few = window.samples < 4.0 * rule_.threads();
  if (begin_ns_ > 0 && few && now_ns < begin_ns_ + kLongestNs && !was_away) return {};  // continue
  const bool usable = begin_ns_ > 0 && !was_away && window.samples > 0;
  begin_window(now_ns, counts);
  if (!usable) return {};
  std::optional<TuningChange> change = rule_.observe(window, limits_);
  if (change) {
    ++changes_;
    entries_.push_back({seconds(now_ns - started_ns_), *change});
    if (entries_.size() > kMaxEntries) entries_.pop_front();
  }
  return change;
}

void Tuner::begin_window(std::uint64_t now_ns, const TuningCounts& counts) {
  begin_ns_ = now_ns;
  before_ = counts;
  wait_ns_ = away_ns_ = batches_ = 0;
}

double Tuner::predicted_rate() const {
  const CostModel& model = rule_.model();
  return model.costs.cpu_s > 0 ? model.rate(rule_.threads(), limits_.cpus) : 0;
}

}  // namespace tundish
