// How many workers are to be active, and how many batches open: windows of measurements go in,
// changes come out. No clock, no thread, no I/O: the same windows give the same changes.
// docs/internals/decisions/0012-threads-by-measurement.md has the reasons.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>

#include "loader/engine/tuning/cost_model.h"

namespace tundish {

struct TuningLimits {
  double cpus = 1;       // that this process may use for workers and trainer; 1.5 is possible
  int most_threads = 1;  // workers
  int most_open = 0;     // batches; fewer than are open: their number stays
};

struct TuningChange {
  int from = 0, threads = 0;
  int open_from = 0, open_batches = 0;
  double rate = 0;       // samples per second before it, measured
  double predicted = 0;  // samples per second after it
  std::string reason;    // for people
};

class TuningRule {
 public:
  // Windows, of about a quarter second.
  static constexpr int kSettle = 1;  // after a change, not evaluated
  static constexpr int kFew = 2;     // before more workers are tried
  static constexpr int kMany = 4;    // before fewer are tried, and before a trial is taken back

  TuningRule(int threads, TuningLimits limits, int open_batches = 1);

  int threads() const { return threads_; }
  int open_batches() const { return open_; }
  bool on_trial() const { return trial_.has_value(); }

  // All workers of threads() were active in this window. The change, if there is one, applies from
  // the next window on.
  std::optional<TuningChange> observe(const TuningWindow& window, const TuningLimits& limits);

  // Of the last change that was judged: measured over predicted rate; 0 before the first.
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
  int deeper_for(const TuningWindow& recent, int most_open) const;  // open batches
  std::optional<TuningChange> consider_deeper(const TuningWindow& recent, int deeper);
  std::optional<TuningChange> consider_fewer(const TuningWindow& recent, double cpus, int cap);
  int enough_for_storage() const;
  TuningChange begin(Direction direction, int threads, int open, const TuningWindow& recent,
                     double predicted, std::string reason);
  TuningChange change_to(int threads, int open, double rate, double predicted, std::string reason);
  TuningWindow sum_of_windows() const;
  void forget();  // the load is another one

  int threads_, open_;
  TuningLimits limits_;
  double now_ = 0;  // seconds of all windows
  int settle_ = kSettle;
  std::deque<TuningWindow> windows_;  // since the last change, the newest kMany of them
  CostModel model_;
  std::map<int, SampleCosts> known_costs_;  // of the load that the pauses belong to, by threads_
  std::optional<Trial> trial_;
  double step_ = 4;  // most workers of a trial over those before
  double more_after_ = 0, fewer_after_ = 0, deeper_after_ = 0;
  double more_pause_, fewer_pause_, deeper_pause_;
  double prediction_ratio_ = 0;
};

}  // namespace tundish
