// tundish bench load --sweep: the rate for each number of threads, with plain and page-locked
// batches, next to the cost model's prediction and the rate that threads="auto" reaches.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/measure.h"

namespace tundish::cli {

struct SweepRow {
  int threads = 0;  // for `automatic`: the final number
  Series plain;
  std::optional<Series> page_locked;  // if page-locked memory is available
  double predicted = 0;               // images per second, extrapolated from one thread
};

struct Sweep {
  double cpus = 0;  // CPUs available to the process, such as 1.5 with a quota
  std::vector<SweepRow> rows;
  SweepRow automatic;
  std::string why_not_page_locked;  // empty if measured

  double best() const;             // highest rate of plain batches, in images per second
  double automatic_share() const;  // automatic rate as a fraction of best()
};

// Returns powers of two below twice the CPU count, the CPU count, and twice the CPU count.
std::vector<int> sweep_counts(int cpus);

// Measures each thread count `runs` times, in turn. Throws the errors of measure().
Sweep sweep_threads(const std::shared_ptr<const Source>& source, const MeasureOptions& options,
                    int runs);

Json sweep_json(const Sweep& sweep);
std::string sweep_table(const Sweep& sweep);  // includes a bar per rate

std::string sweep_svg(const Sweep& sweep);  // draws a chart

}  // namespace tundish::cli
