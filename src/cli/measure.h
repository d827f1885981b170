// Times the engine on a source, under the workload of a training run.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/host_memory.h"
#include "cli/json.h"
#include "data/source/source.h"

namespace tundish::cli {

struct MeasureOptions {
  int size = 224;  // side length of the random resized crop
  std::uint32_t batch_size = 64;
  int threads = 1;
  double seconds = 1;                        // per run; a run ends with a complete batch
  double warm_up_seconds = 0;                // before each run, not counted
  bool tune_threads = false;                 // threads="auto"; `threads` is the initial number
  const HostAllocator* allocator = nullptr;  // for batches; null: plain memory
};

struct Measured {
  int threads = 0;  // final number
  std::uint64_t images = 0;
  std::uint64_t skipped = 0;       // unreadable or undecodable
  double seconds = 0;              // from start() to the last batch
  double first_batch_seconds = 0;  // from constructing the engine to receiving the first batch
  double cpu_seconds = 0;          // CPU time of all threads of the process
  double images_per_second = 0;
  double bytes_per_second = 0;                                 // encoded images
  double read_share = 0, decode_share = 0, augment_share = 0;  // fractions of the threads' time
};

// Measures shuffled uint8 batches of RandomResizedCrop + RandomHorizontalFlip over many epochs.
// Throws Error, including Error(interrupted) after Ctrl-C.
Measured measure(std::shared_ptr<const Source> source, const MeasureOptions& options);

// Several runs with one number of threads, interleaved with runs of the other numbers so that a
// slow moment affects all numbers. `median` is the run with the median rate.
struct Series {
  Measured median;
  double slowest = 0, fastest = 0;  // images per second
  int runs = 0;
};
std::vector<Series> measure_all(const std::shared_ptr<const Source>& source, MeasureOptions options,
                                const std::vector<int>& threads, int runs);

double cpu_per_1000(const Measured& measured);  // CPU seconds per 1,000 images
Json series_json(const Series& series);         // one row of `tundish bench --json`

}  // namespace tundish::cli
