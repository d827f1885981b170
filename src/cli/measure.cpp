#include "cli/measure.h"

#include <time.h>

#include <algorithm>

#include "augment/transform.h"
#include "loader/engine/engine.h"

namespace tundish::cli {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Computed from the source: the engine reads ahead, so its byte count would be too high.
double mean_sample_bytes(const Source& source) {
  double sum = 0;
  for (std::uint64_t i = 0; i < source.count(); ++i) sum += static_cast<double>(source.bytes(i));
  return source.count() == 0 ? 0 : sum / static_cast<double>(source.count());
}

// Takes batches for `seconds`, across epochs. Counts their images and the elapsed seconds.
void take_batches(Engine& engine, const std::string& path, double seconds, std::uint64_t& epoch,
                  Measured& out) {
  const Clock::time_point start = Clock::now();
  Batch batch;
  while (out.seconds < seconds) {
    check_interrupt(path);
    switch (engine.next(batch, std::chrono::milliseconds(100))) {
      case Engine::Next::batch:
        out.images += batch.count;
        out.seconds = since(start);
        if (out.first_batch_seconds == 0) out.first_batch_seconds = out.seconds;
        break;
      case Engine::Next::end:
        engine.start(++epoch, 0);
        // A set of only bad samples would produce empty epochs endlessly.
        out.seconds = since(start);
        break;
      case Engine::Next::again:
        break;
    }
  }
}

LoaderOptions loader_options(const MeasureOptions& options, std::uint64_t count) {
  return {.batch_size =
              static_cast<std::uint32_t>(std::clamp<std::uint64_t>(count, 1, options.batch_size)),
          .transforms = {RandomResizedCrop{.size = {options.size, options.size}},
                         RandomHorizontalFlip{}},
          .shuffle = true,
          .threads = options.threads,
          .tune_threads = options.tune_threads,
          .on_error = OnError::skip,
          .uneven = Uneven::drop,
          .allocator = options.allocator ? *options.allocator : kPlainMemory};
}

}  // namespace

Measured measure(std::shared_ptr<const Source> source, const MeasureOptions& options) {
  const std::string path = source->path();
  const double mean_bytes = mean_sample_bytes(*source);
  const Clock::time_point made = Clock::now();
  double cpu_before = cpu_seconds();
  const std::uint64_t count = source->count();
  Engine engine(std::move(source), loader_options(options, count));
  engine.start(0, 0);
  const double start_seconds = since(made);

  std::uint64_t epoch = 0;
  if (options.warm_up_seconds > 0) {
    Measured not_counted;
    take_batches(engine, path, options.warm_up_seconds, epoch, not_counted);
    engine.new_window();
    cpu_before = cpu_seconds();
  }
  Measured out;
  take_batches(engine, path, options.seconds, epoch, out);
  if (out.first_batch_seconds > 0) out.first_batch_seconds += start_seconds;
  const LoaderStats stats = engine.stats();
  out.threads = static_cast<int>(stats.threads);
  out.skipped = stats.skipped;
  out.read_share = stats.read_busy;
  out.decode_share = stats.decode_busy;
  out.augment_share = stats.augment_busy;
  out.cpu_seconds = cpu_seconds() - cpu_before;
  out.images_per_second = static_cast<double>(out.images) / out.seconds;
  out.bytes_per_second = out.images_per_second * mean_bytes;
  return out;
}

std::vector<Series> measure_all(const std::shared_ptr<const Source>& source, MeasureOptions options,
                                const std::vector<int>& threads, int runs) {
  std::vector<std::vector<Measured>> all(threads.size());
  for (int run = 0; run < runs; ++run) {
    for (std::size_t t = 0; t < threads.size(); ++t) {
      options.threads = threads[t];
      all[t].push_back(measure(source, options));
    }
  }
  std::vector<Series> out;
  for (std::vector<Measured>& series : all) {
    std::sort(series.begin(), series.end(), [](const Measured& a, const Measured& b) {
      return a.images_per_second < b.images_per_second;
    });
    out.push_back({.median = series[series.size() / 2],
                   .slowest = series.front().images_per_second,
                   .fastest = series.back().images_per_second,
                   .runs = runs});
  }
  return out;
}

double cpu_per_1000(const Measured& measured) {
  if (measured.images == 0) return 0;
  return measured.cpu_seconds * 1000 / static_cast<double>(measured.images);
}

Json series_json(const Series& series) {
  const Measured& m = series.median;
  return {{"threads", m.threads},
          {"images_per_second", m.images_per_second},
          {"slowest", series.slowest},
          {"fastest", series.fastest},
          {"bytes_per_second", m.bytes_per_second},
          {"first_batch_seconds", m.first_batch_seconds},
          {"cpu_seconds_per_1000", cpu_per_1000(m)},
          {"images", m.images},
          {"skipped", m.skipped},
          {"seconds", m.seconds}};
}

}  // namespace tundish::cli
