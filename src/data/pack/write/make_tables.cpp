#include "data/pack/write/make_tables.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "base/machine/usable_cpus.h"
#include "codec/decode/jpeg_limits.h"
#include "codec/lanes/transcode.h"
#include "data/pack/write/work_memory.h"

namespace tundish {
namespace {

constexpr std::uint64_t kSamples = 1000;
constexpr std::uint64_t kUnits = 6000;    // limit for all samples; some 40 MB
constexpr std::size_t kFewBlocks = 2000;  // a photo has 8,000; statistics of fewer are meaningless

class Training {
 public:
  Training(const Source& source, const PackOptions& options)
      : source_(source),
        options_(options),
        field_(source.schema().find(FieldType::image)),
        count_(std::min(kSamples, source.count())),
        units_each_(static_cast<int>(
            std::max<std::uint64_t>(4, kUnits / std::max<std::uint64_t>(1, count_)))),
        samples_(count_) {}

  // Runs one thread: processes samples until none is left.
  void run() {
    try {
      lanes::Transcoder transcoder;
      Sample sample;
      std::unique_ptr<PreprocessStep> step;
      if (options_.preprocessor) step = options_.preprocessor->make_step();
      for (std::uint64_t k; (k = next_.fetch_add(1)) < count_;) {
        if (options_.stop && *options_.stop) break;
        try {
          source_.read_original(sample, k * source_.count() / count_, FieldSet{1} << field_,
                                options_.limits);
        } catch (const SampleError& error) {
          if (error.code() == ErrorCode::no_memory) throw;
          continue;  // refused later, with its name
        }
        take(samples_[k], sample.fields[static_cast<std::size_t>(field_)], transcoder, step.get());
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!broke_) broke_ = std::current_exception();
      next_.store(count_);
    }
  }

  // Requires that all threads have ended.
  const std::vector<lanes::ImageSample>& result() const {
    if (broke_) std::rethrow_exception(broke_);
    return samples_;
  }
  std::uint64_t count() const { return count_; }

 private:
  // Reads the image as it will be stored.
  void take(lanes::ImageSample& out, Bytes image, lanes::Transcoder& transcoder,
            PreprocessStep* step) {
    ImageHeader header;
    if (read_header(header, image, options_.limits)) return;  // refused later
    const std::uint64_t pixels = std::uint64_t{header.width} * header.height;
    const WorkMemory::Room room(memory_, pixels * kWorkBytesPerPixel);
    take_within_budget(out, image, transcoder, step);
    if (pixels > kLargePixels) transcoder.free_memory();
  }

  void take_within_budget(lanes::ImageSample& out, Bytes image, lanes::Transcoder& transcoder,
                          PreprocessStep* step) {
    NewImage made;
    if (!step || step->run(made, image, options_.limits) != Preprocessed::changed) {
      transcoder.sample(out, image, units_each_, jpeg_limits(options_.limits));
    } else if (made.codec == Codec::jpeg) {
      transcoder.sample(out, made.coefficients, units_each_);
    }
  }

  const Source& source_;
  const PackOptions& options_;
  const int field_;
  const std::uint64_t count_;
  const int units_each_;
  WorkMemory memory_{kWorkBytes};
  std::atomic<std::uint64_t> next_{0};
  std::vector<lanes::ImageSample> samples_;  // each written by one thread
  std::mutex mutex_;                         // guards the members below while threads run
  std::exception_ptr broke_;
};

}  // namespace

std::shared_ptr<const lanes::Tables> make_tables(std::uint64_t& trained_on, const Source& source,
                                                 const PackOptions& options) {
  const std::shared_ptr<const lanes::Tables> builtin(&lanes::builtin_tables(), [](const auto*) {});
  trained_on = 0;
  if (options.tables == LanesTables::builtin) return builtin;
  if (options.preprocessor && !options.preprocessor->makes_jpegs()) return builtin;
  if (!source.random_access()) {
    if (options.tables == LanesTables::automatic) return builtin;
    throw Error(ErrorCode::no_random_access, {.file = source.path()},
                "tables are trained on samples from all over the source; use the built-in ones");
  }
  Training training(source, options);
  {
    std::vector<std::jthread> threads;
    const unsigned wanted =
        options.threads > 0 ? static_cast<unsigned>(options.threads) : usable_cpus();
    for (unsigned t = 1; t < wanted; ++t) {
      try {
        threads.emplace_back([&] { training.run(); });
      } catch (const std::exception&) {
        break;  // fewer threads suffice
      }
    }
    training.run();
  }
  const std::vector<lanes::ImageSample>& samples = training.result();
  std::size_t blocks = 0;
  for (const lanes::ImageSample& sample : samples) {
    trained_on += !sample.units.empty();
    for (const auto& unit : sample.units) blocks += unit.blocks.size();
  }
  if (blocks < kFewBlocks) {
    trained_on = 0;
    return builtin;
  }
  auto tables = std::make_shared<lanes::Tables>();
  lanes::fit_tables(*tables, samples);
  return tables;
}

}  // namespace tundish
