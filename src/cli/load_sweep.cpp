#include "cli/load_sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/machine/usable_cpus.h"
#include "cli/text.h"
#include "cuda/runtime/pinned.h"
#include "loader/engine/tuning/cost_model.h"

namespace tundish::cli {
namespace {

constexpr double kSettleSeconds = 5;  // time for threads="auto" to settle
constexpr double kColumns = 30;       // width of the longest bar

CostModel model_of(const Measured& m) {
  const double thread_s = m.seconds * static_cast<double>(m.threads);
  return {costs_of({.seconds = m.seconds,
                    .samples = static_cast<double>(m.images),
                    .read_s = m.read_share * thread_s,
                    .work_s = (m.decode_share + m.augment_share) * thread_s,
                    .cpu_s = m.cpu_seconds})};
}

double rate_of(const Series& series) { return series.median.images_per_second; }

Json row_json(const SweepRow& row) {
  const auto& locked = row.page_locked;
  return {{"threads", row.threads},
          {"images_per_second", rate_of(row.plain)},
          {"slowest", row.plain.slowest},
          {"fastest", row.plain.fastest},
          {"page_locked_images_per_second", locked ? Json(rate_of(*locked)) : Json(nullptr)},
          {"predicted_images_per_second", row.predicted}};
}

std::string row_text(const std::string& name, const SweepRow& row, double best) {
  const double rate = rate_of(row.plain);
  const auto bar = static_cast<std::size_t>(std::lround(kColumns * (best > 0 ? rate / best : 0)));
  return fmt::format("  {:>9} {:>12} {:>13} {:>11}  {}\n", name, rate_text(rate),
                     row.page_locked ? rate_text(rate_of(*row.page_locked)) : "-",
                     row.predicted > 0 ? rate_text(row.predicted) : "-",
                     std::string(std::max<std::size_t>(bar, 1), '#'));
}

}  // namespace

double Sweep::best() const {
  double most = 0;
  for (const SweepRow& row : rows) most = std::max(most, rate_of(row.plain));
  return most;
}

double Sweep::automatic_share() const {
  const double most = best();
  return most > 0 ? rate_of(automatic.plain) / most : 0;
}

std::vector<int> sweep_counts(int cpus) {
  std::set<int> counts = {cpus, 2 * cpus};
  for (int n = 1; n < 2 * cpus; n *= 2) counts.insert(n);
  return {counts.begin(), counts.end()};
}

Sweep sweep_threads(const std::shared_ptr<const Source>& source, const MeasureOptions& options,
                    int runs) {
  Sweep out;
  out.cpus = usable_cpu_time();
  const int cpus = static_cast<int>(usable_cpus());
  const std::vector<int> counts = sweep_counts(cpus);
  MeasureOptions locked = options;
  locked.allocator = cuda::pinned_memory(out.why_not_page_locked);
  const std::vector<Series> plain = measure_all(source, options, counts, runs);
  std::vector<Series> page_locked;
  if (locked.allocator) page_locked = measure_all(source, locked, counts, runs);
  const CostModel model = model_of(plain.front().median);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    out.rows.push_back({.threads = counts[i],
                        .plain = plain[i],
                        .page_locked = {},
                        .predicted = model.rate(counts[i], out.cpus)});
    if (locked.allocator) out.rows.back().page_locked = page_locked[i];
  }
  MeasureOptions tuned = options;
  tuned.tune_threads = true;
  tuned.warm_up_seconds = kSettleSeconds;
  out.automatic.plain = measure_all(source, tuned, {cpus}, 1).front();
  out.automatic.threads = out.automatic.plain.median.threads;
  return out;
}

Json sweep_json(const Sweep& sweep) {
  Json out;
  out["cpus"] = sweep.cpus;
  out["rows"] = Json::array();
  for (const SweepRow& row : sweep.rows) out["rows"].push_back(row_json(row));
  out["auto"] = row_json(sweep.automatic);
  out["auto_share"] = sweep.automatic_share();
  return out;
}

std::string sweep_table(const Sweep& sweep) {
  const double best = std::max(sweep.best(), rate_of(sweep.automatic.plain));
  std::string out = "    threads     images/s   page-locked   predicted\n";
  for (const SweepRow& row : sweep.rows) {
    out += row_text(std::to_string(row.threads), row, best);
  }
  out += row_text(fmt::format("auto: {}", sweep.automatic.threads), sweep.automatic, best);
  return out;
}

}  // namespace tundish::cli
