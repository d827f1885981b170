#include "cli/info/image_stats.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "cli/evenly_spaced.h"
#include "cli/progress.h"
#include "codec/decode/decode.h"
#include "loader/sample/gray_rows.h"
#include "loader/sample/orientation.h"

namespace tundish::cli {
namespace {

class Work {
 public:
  Work(const Source& source, const StatsOptions& options, int field)
      : source_(source),
        field_(field),
        gray_(options.gray),
        exif_orientation_(options.exif_orientation),
        wanted_(options.samples == 0 ? source.count() : std::min(options.samples, source.count())) {
    result_.looked_at = wanted_;
  }

  std::uint64_t wanted() const { return wanted_; }
  std::uint64_t done() const { return done_.load(); }
  std::uint64_t ended() const { return ended_.load(); }

  // Body of one thread: takes images until none is left.
  void run() {
    try {
      Sample sample;
      DecodeScratch scratch;
      for (std::uint64_t k; (k = next_.fetch_add(1)) < wanted_ && !stop_flag().load();) {
        const std::uint64_t i = evenly_spaced(k, wanted_, source_.count());
        try {
          source_.read(sample, i, FieldSet{1} << field_);
          measure_image(i, sample, scratch);
        } catch (const SampleError& error) {
          add_bad(error);
        }
        done_.fetch_add(1);
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!broke_) broke_ = std::current_exception();
      next_.store(wanted_);
    }
    ended_.fetch_add(1);
  }

  // Variant for a source without random access; calls `each` after every sample.
  template <class Each>
  void scan(const Each& each) {
    DecodeScratch scratch;
    std::uint64_t k = 0;
    const auto is_wanted = [&](std::uint64_t i) {
      if (k >= wanted_ || i != evenly_spaced(k, wanted_, source_.count())) return false;
      ++k;
      return true;
    };
    const auto go_on = [&] {
      each();
      return k < wanted_ && !stop_flag().load();
    };
    source_.scan(
        [&](std::uint64_t i, Sample& sample) {
          if (is_wanted(i)) {
            measure_image(i, sample, scratch);
            done_.fetch_add(1);
          }
          return go_on();
        },
        [&](std::uint64_t i, const SampleError& error) {
          if (is_wanted(i)) {
            add_bad(error);
            done_.fetch_add(1);
          }
          return go_on();
        });
  }

  // Call after all threads have ended.
  ImageStats result() {
    if (broke_) std::rethrow_exception(broke_);
    const auto record = [](const Error& error) { return error.where().record.value_or(0); };
    std::sort(result_.bad.begin(), result_.bad.end(),
              [&](const Error& a, const Error& b) { return record(a) < record(b); });
    std::sort(result_.images.begin(), result_.images.end(),
              [](const SizedImage& a, const SizedImage& b) { return a.record < b.record; });
    return std::move(result_);
  }

 private:
  void measure_image(std::uint64_t i, const Sample& sample, DecodeScratch& scratch) {
    const Bytes bytes = sample.fields.at(static_cast<std::size_t>(field_));
    ImageHeader header;
    if (const auto fault = source_.read_header(header, i, bytes, Limits{})) {
      return add_bad(Error(*fault, source_.where_in(i, field_)));
    }
    const Size stored{static_cast<int>(header.width), static_cast<int>(header.height)};
    SumSink sink(stored);  // separate, because a fault may follow half of the rows
    const Window all{.width = stored.width, .height = stored.height};
    std::vector<std::uint8_t> rows;
    GrayRows gray(sink, rows);
    StripSink& to = gray_ ? static_cast<StripSink&>(gray) : sink;
    if (const auto fault = decode(to, bytes, header, all, scratch)) {
      return add_bad(Error(*fault, source_.where_in(i, field_)));
    }
    const Size size = exif_orientation_ ? upright_size(stored, header.orientation) : stored;
    const std::lock_guard lock(mutex_);
    if (!result_.levels.add(sink.sums)) {
      throw Error(ErrorCode::argument, {.file = source_.path()},
                  fmt::format("it has more than {} pixels, whose squares pass 64 bits: give "
                              "--samples N",
                              with_commas(kMaxSummedPixels)));
    }
    result_.images.push_back({i, size});
    ++result_.codecs[codec_name(header.codec)];
  }

  void add_bad(const Error& error) {
    const std::lock_guard lock(mutex_);
    result_.bad.push_back(error);
  }

  const Source& source_;
  const int field_;
  const bool gray_;
  const bool exif_orientation_;
  const std::uint64_t wanted_;
  std::atomic<std::uint64_t> next_{0}, done_{0}, ended_{0};
  std::mutex mutex_;  // guards everything below
  ImageStats result_;
  std::exception_ptr broke_;
};

}  // namespace

ImageStats collect_stats(const Source& source, const StatsOptions& options, const Shell& shell) {
  const int field = source.schema().find(FieldType::image);
  if (field < 0) {
    throw Error(ErrorCode::argument, {.file = source.path()}, "its samples have no image");
  }
  Work work(source, options, field);
  {
    Progress progress(shell, "decoding", "img");
    const auto draw = [&] { progress.show({.items = work.done(), .items_total = work.wanted()}); };
    if (source.random_access()) {
      std::vector<std::jthread> workers;
      for (std::uint64_t t = 0; t < options.threads; ++t) workers.emplace_back([&] { work.run(); });
      while (work.ended() < options.threads) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        draw();
      }
    } else {
      work.scan(draw);
    }
  }
  check_interrupt(source.path());
  return work.result();
}

}  // namespace tundish::cli
