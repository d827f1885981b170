// tundish bench load --sweep: the rate for each number of threads, with plain and with page-locked
// batches, beside what the cost model predicts and what threads="auto" reaches.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/measure.h"

namespace tundish::cli {

struct SweepRow {
  int threads = 0;  // of `automatic`: those at the end
  Series plain;
  std::optional<Series> page_locked;  // where there is page-locked memory
  double predicted = 0;               // images per second, from the run of one thread
};

struct Sweep {
  double cpus = 0;  // that the process may use; 1.5 with such a quota
  std::vector<SweepRow> rows;
  SweepRow automatic;
  std::string why_not_page_locked;  // empty: it was measured

  double best() const;             // images per second of plain batches, of all rows
  double automatic_share() const;  // of best()
};

// 1, 2, 4 and so on, the number of CPUs, and twice as many.
std::vector<int> sweep_counts(int cpus);

// Each number `runs` times, in turns. Throws as measure() does.
Sweep sweep_threads(const std::shared_ptr<const Source>& source, const MeasureOptions& options,
                    int runs);

Json sweep_json(const Sweep& sweep);
std::string sweep_table(const Sweep& sweep);  // with a bar for each rate

std::string sweep_svg(const Sweep& sweep);  // the same as a chart

}  // namespace tundish::cli
