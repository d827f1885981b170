// The machine at one moment, as `tundish top` shows it: measurements, and rates since the previous
// snapshot.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/machine/host_counters.h"
#include "base/machine/nvml.h"
#include "tools/top/find_loaders.h"

namespace tundish {

struct DiskRate {
  std::string name{};
  double reads = 0, read_bytes = 0, writes = 0, written_bytes = 0;  // per second
  double busy = 0;                                                  // share of the time
};

struct LoaderRate {
  RunningLoader loader{};
  double samples = 0, batches = 0, bytes = 0;        // per second
  double waiting = 0;                                // share of the time that the trainer waited
  double reading = 0, decoding = 0, augmenting = 0;  // shares of the threads' time
  double hits = 0;                                   // share of samples found in the cache
  double age_s = 0;                                  // seconds since the loader last published
};

struct Snapshot {
  double seconds = 0;  // time since the previous snapshot; 0: the first, which has no rates
  std::optional<double> cpu_busy, cpu_waiting;  // shares of all CPUs
  std::optional<double> group_cpus;             // CPUs used by the control group
  HostCounters host;
  std::vector<DiskRate> disks;
  std::vector<Gpu> gpus;
  std::vector<LoaderRate> loaders;
};

struct SamplerOptions {
  SystemRoots roots{};
  std::string nvml = "libnvidia-ml.so.1";
  double search_seconds = 5;  // interval between searches of all processes for loaders
};

// Takes snapshots. Not thread-safe.
class Sampler {
 public:
  explicit Sampler(const SamplerOptions& options = {});
  Snapshot take();

 private:
  void add_disks(Snapshot& out) const;
  void add_loaders(Snapshot& out);

  SamplerOptions options_;
  Nvml nvml_;
  std::vector<Gpu> gpus_;
  HostCounters before_;
  std::vector<LoaderRate> loaders_;
  std::uint64_t searched_ns_ = 0;
};

// Returns a loader's rates between two readings. Rates of counters that went backwards are 0.
LoaderRate rate_of(const RunningLoader& before, const RunningLoader& now, double seconds);

}  // namespace tundish
