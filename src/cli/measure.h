// Times the engine on a source, as a training run would use it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/host_memory.h"
#include "cli/json.h"
#include "data/source/source.h"

namespace tundish::cli {

struct MeasureOptions {
  int size = 224;  // of the random resized crop
  std::uint32_t batch_size = 64;
  int threads = 1;
  double seconds = 1;                        // of one run; it ends with a whole batch
  double warm_up_seconds = 0;                // before them, not counted
  bool tune_threads = false;                 // threads="auto"; `threads` are those to begin with
  const HostAllocator* allocator = nullptr;  // of the batches; null: plain memory
};

struct Measured {
  int threads = 0;  // at the end
  std::uint64_t images = 0;
  std::uint64_t skipped = 0;       // could not be read or decoded
  double seconds = 0;              // from start() to the last batch
  double first_batch_seconds = 0;  // from making the engine to having the first batch
  double cpu_seconds = 0;          // of all threads of the process
  double images_per_second = 0;
  double bytes_per_second = 0;                                 // of coded images
  double read_share = 0, decode_share = 0, augment_share = 0;  // of the threads' time
};

// Shuffled uint8 batches of RandomResizedCrop + RandomHorizontalFlip, epoch after epoch. Throws
// Error, also Error(interrupted) when Ctrl-C was pressed.
Measured measure(std::shared_ptr<const Source> source, const MeasureOptions& options);

// Several runs for each number of threads, taken in turn so that a slow moment hits all of them;
// the median by images per second of each.
struct Series {
  Measured median;
  double slowest = 0, fastest = 0;  // images per second
  int runs = 0;
};
std::vector<Series> measure_all(const std::shared_ptr<const Source>& source, MeasureOptions options,
                                const std::vector<int>& threads, int runs);

double cpu_per_1000(const Measured& measured);  // CPU seconds for 1,000 images
Json series_json(const Series& series);         // a row of `tundish bench --json`

}  // namespace tundish::cli
