// Chooses the numbers of active workers and open batches. Input: windows of measurements. Output:
// changes. No clock, no thread, no I/O: the same windows give the same changes.
// docs/internals/decisions/0012-threads-by-measurement.md explains the reasons.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>

#include "loader/engine/tuning/cost_model.h"

namespace tundish {

struct TuningLimits {
  double cpus = 1;       // for the workers and the trainer of this process; may be fractional
  int most_threads = 1;  // workers
  int most_open = 0;     // batches; if fewer than are open, their number is unchanged
};

struct TuningChange {
  int from = 0, threads = 0;
  int open_from = 0, open_batches = 0;
  double rate = 0;       // samples per second before the change, measured
  double predicted = 0;  // samples per second after the change
  std::string reason;    // user-facing
};

class TuningRule {
 public:
  // Numbers of windows, each about a quarter second.
  static constexpr int kSettle = 1;  // ignored after a change
  static constexpr int kFew = 2;     // windows before more workers are tried
  static constexpr int kMany = 4;    // windows before fewer workers are tried, or a trial is undone

  TuningRule(int threads, TuningLimits limits, int open_batches = 1);

  int threads() const { return threads_; }
  int open_batches() const { return open_; }
  bool on_trial() const { return trial_.has_value(); }

  // Evaluates a window in which all workers of threads() were active. The returned change applies
  // from the next window on.
  std::optional<TuningChange> observe(const TuningWindow& window, const TuningLimits& limits);

  // Measured over predicted rate of the last judged change; 0 before the first.
  double prediction_ratio() const { return prediction_ratio_; }
  const CostModel& model() const { return model_; }

 private:
  enum class Direction { more, deeper, fewer_for_demand, fewer_cpus };
  struct Trial {
    Direction direction;
    int from, open_from;
    double rate, predicted;
  };
  enum class Verdict { open, keep, take_back };

  std::optional<TuningChange> new_budget(const TuningLimits& limits);
  std::optional<TuningChange> judge();
  Verdict verdict_on(const TuningWindow& since, std::size_t windows) const;
  Verdict verdict_on_more(const TuningWindow& since, std::size_t windows) const;
  Verdict verdict_on_deeper(const TuningWindow& since, std::size_t windows) const;
  TuningChange take_back(const TuningWindow& since);
  std::optional<TuningChange> consider(const TuningLimits& limits);
  std::optional<TuningChange> consider_more(const TuningWindow& recent, double cpus, int cap,
                                            int deeper);
  int deeper_for(const TuningWindow& recent, int most_open) const;  // number of open batches
  std::optional<TuningChange> consider_deeper(const TuningWindow& recent, int deeper);
  std::optional<TuningChange> consider_fewer(const TuningWindow& recent, double cpus, int cap);
  int enough_for_storage() const;
  TuningChange begin(Direction direction, int threads, int open, const TuningWindow& recent,
                     double predicted, std::string reason);
  TuningChange change_to(int threads, int open, double rate, double predicted, std::string reason);
  TuningWindow sum_of_windows() const;
  void forget();  // the load has changed

  int threads_, open_;
  TuningLimits limits_;
  double now_ = 0;  // sum of all windows, in seconds
  int settle_ = kSettle;
  std::deque<TuningWindow> windows_;  // windows since the last change, at most kMany
  CostModel model_;
  std::map<int, SampleCosts> known_costs_;  // indexed by threads_; cleared when the load changes
  std::optional<Trial> trial_;
  double step_ = 4;  // maximum factor of workers in a trial
  double more_after_ = 0, fewer_after_ = 0, deeper_after_ = 0;
  double more_pause_, fewer_pause_, deeper_pause_;
  double prediction_ratio_ = 0;
};

}  // namespace tundish
