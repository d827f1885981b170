// Runs loaders with fixed thread counts and one with threads="auto" in one process, slice by slice
// in turns, so that disturbances affect every run. Prints JSON.
//   bench_autotune PACK SLICES SLICE_S SIZE LATENCY_MS READS STEP_MS COUNTS CPUS [GROUP]
// SIZE: size of the crops. LATENCY_MS, READS: latency and parallel reads of the storage; 0:
// unchanged. STEP_MS: CPU time of the training loop per batch. COUNTS: "1,2,4". CPUS: "2,1,2" sets
// the CPUs of each third of the slices by affinity. GROUP: folder of this process's control group;
// CPUS are then quotas, 0: none.
#include <fmt/format.h>
#include <sched.h>
#include <sys/types.h>
#include <time.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <list>
#include <sstream>
#include <string>
#include <vector>

#include "augment/transform.h"
#include "base/machine/usable_cpus.h"
#include "data/pack/reader.h"
#include "loader/engine/engine.h"
#include "slow_source.h"

namespace {

using namespace tundish;
using namespace std::chrono_literals;

constexpr std::uint32_t kBatch = 32;

double clock_s(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

std::vector<int> numbers_of(const std::string& text) {
  std::vector<int> out;
  std::stringstream words(text);
  for (std::string word; std::getline(words, word, ',');) out.push_back(std::stoi(word));
  return out;
}

// Limits all threads; threads started later inherit the limit.
void limit_to_cpus(int count) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int i = 0; i < count; ++i) CPU_SET(static_cast<std::size_t>(i), &set);
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    ::sched_setaffinity(std::stoi(task.path().filename().string()), sizeof set, &set);
  }
}

// Sets the quota of the control group in `folder`, version 2 or 1.
void set_quota(const std::string& folder, int cpus) {
  constexpr int kPeriodUs = 100'000;
  const bool version_2 = std::filesystem::exists(folder + "/cpu.max");
  const std::string none = version_2 ? "max" : "-1";
  const std::string quota = cpus > 0 ? std::to_string(cpus * kPeriodUs) : none;
  std::ofstream file(folder + (version_2 ? "/cpu.max" : "/cpu.cfs_quota_us"));
  file << quota;  // the period stays at 100 ms
  file.close();
  if (!file) {
    fmt::print(stderr, "bench_autotune: cannot set the quota of {}\n", folder);
    std::exit(1);
  }
}

// The training step: uses this much CPU time of the calling thread, regardless of wall time.
void compute(double seconds) {
  const double end = clock_s(CLOCK_THREAD_CPUTIME_ID) + seconds;
  while (seconds > 0 && clock_s(CLOCK_THREAD_CPUTIME_ID) < end) {
  }
}

struct Slice {
  double at_s, seconds, samples, read_s, work_s, worker_cpu_s;
  std::uint64_t threads, prefetch;
  double predicted;
};

class Contestant {
 public:
  Contestant(std::shared_ptr<const Source> source, int size, int threads, bool automatic)
      : automatic_(automatic), threads_(threads), engine_(std::move(source), [&] {
          LoaderOptions options;
          options.batch_size = kBatch;
          options.transforms = {RandomResizedCrop{.size = {size, size}}, RandomHorizontalFlip{}};
          options.shuffle = true;
          options.threads = threads;
          options.tune_threads = options.tune_prefetch = automatic;
          options.uneven = Uneven::drop;
          return options;
        }()) {}

  void run(double seconds, double step_s) {
    if (slices_.empty()) {
      engine_.start(0, 0);
    } else {  // prepared during the others' turns
      for (std::uint64_t ready = engine_.ready(); ready > 0; --ready) take(0);
    }
    const LoaderStats before = engine_.stats();
    const double begin = clock_s(CLOCK_MONOTONIC), cpu = clock_s(CLOCK_PROCESS_CPUTIME_ID),
                 own = clock_s(CLOCK_THREAD_CPUTIME_ID);
    double samples = 0, now = begin;
    while (now < begin + seconds) {
      samples += take(step_s);
      now = clock_s(CLOCK_MONOTONIC);
    }
    const LoaderStats after = engine_.stats();
    slices_.push_back(
        {.at_s = at_s_,
         .seconds = now - begin,
         .samples = samples,
         .read_s = after.read_s - before.read_s,
         .work_s = after.decode_s + after.augment_s - before.decode_s - before.augment_s,
         .worker_cpu_s =
             clock_s(CLOCK_PROCESS_CPUTIME_ID) - cpu - (clock_s(CLOCK_THREAD_CPUTIME_ID) - own),
         .threads = after.threads,
         .prefetch = after.prefetch,
         .predicted = after.predicted_rate});
    at_s_ += now - begin;
  }

  // Returns the cost model's prediction for each count, from all slices of this contestant.
  CostModel model() const {
    TuningWindow all;
    for (const Slice& s : slices_) {
      all.add({.seconds = s.seconds,
               .samples = s.samples,
               .read_s = s.read_s,
               .work_s = s.work_s,
               .cpu_s = s.worker_cpu_s});
    }
    return {costs_of(all)};
  }

  void print(const std::vector<int>& counts, double cpus) const {
    fmt::print("{{\"threads\": {}, \"slices\": [",
               automatic_ ? "\"auto\"" : std::to_string(threads_));
    const char* comma = "";
    for (const Slice& s : slices_) {
      fmt::print(
          "{}{{\"at_s\": {:.3f}, \"seconds\": {:.3f}, \"rate\": {:.2f}, \"threads\": {}, "
          "\"prefetch\": {}, \"predicted\": {:.2f}}}",
          comma, s.at_s, s.seconds, s.samples / s.seconds, s.threads, s.prefetch, s.predicted);
      comma = ", ";
    }
    fmt::print("], \"predicted\": {{");
    comma = "";
    for (const int n : counts) {
      fmt::print("{}\"{}\": {:.2f}", comma, n, model().rate(n, cpus));
      comma = ", ";
    }
    fmt::print("}}, \"tuning\": [");
    comma = "";
    for (const TuningEntry& entry : engine_.tuning_entries()) {
      const TuningChange& c = entry.change;
      fmt::print(
          "{}{{\"at_s\": {:.3f}, \"from\": {}, \"threads\": {}, \"prefetch_from\": {}, "
          "\"prefetch\": {}, \"reason\": \"{}\"}}",
          comma, entry.at_s, c.from, c.threads, c.open_from, c.open_batches, c.reason);
      comma = ", ";
    }
    fmt::print("]}}");
  }

 private:
  double take(double step_s) {
    for (;;) {
      Batch batch;
      switch (engine_.next(batch, 100ms)) {
        case Engine::Next::batch:
          compute(step_s);
          return batch.count;
        case Engine::Next::end:
          engine_.start(++epoch_, 0);
          break;
        case Engine::Next::again:
          break;
      }
    }
  }

  const bool automatic_;
  const int threads_;
  Engine engine_;
  std::uint64_t epoch_ = 0;
  double at_s_ = 0;
  std::vector<Slice> slices_;
};

}  // namespace

int main(int words, char** word) {
  if (words != 10 && words != 11) return 2;
  const std::string group = words == 11 ? word[10] : "";
  const auto slices = static_cast<std::size_t>(std::atoi(word[2]));
  const double slice_s = std::atof(word[3]), step_s = std::atof(word[7]) / 1000;
  const auto source = std::make_shared<SlowSource>(Pack::open(word[1]), std::atof(word[5]) / 1000,
                                                   std::max(1, std::atoi(word[6])));
  const std::vector<int> counts = numbers_of(word[8]), cpus = numbers_of(word[9]);
  const auto give_cpus = [&](int count) {
    group.empty() ? limit_to_cpus(count) : set_quota(group, count);
  };
  give_cpus(cpus.front());
  const double usable = usable_cpu_time();
  std::list<Contestant> all;
  all.emplace_back(source, std::atoi(word[4]), static_cast<int>(usable_cpus()), true);
  for (const int n : counts) all.emplace_back(source, std::atoi(word[4]), n, false);
  for (std::size_t slice = 0; slice < slices; ++slice) {
    give_cpus(cpus[slice * cpus.size() / slices]);
    for (Contestant& one : all) one.run(slice_s, step_s);
  }
  fmt::print("{{\"cpus\": {}, \"contestants\": [", usable);
  const char* comma = "";
  for (const Contestant& one : all) {
    fmt::print("{}", comma);
    one.print(counts, usable);
    comma = ",\n ";
  }
  fmt::print("]}}\n");
}
