#include "cli/verify/check_pixels.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "cli/progress.h"
#include "codec/decode/decode.h"

namespace tundish::cli {
namespace {

class NoSink : public StripSink {
 public:
  void push(const Strip&) override {}
};

class Work {
 public:
  Work(const Pack& pack, int field) : pack_(pack), field_(field) {}

  // Body of one thread: takes records until none is left.
  void run() {
    try {
      Sample sample;
      DecodeScratch scratch;
      for (std::uint64_t i; (i = next_.fetch_add(1)) < pack_.count() && !stop_flag().load();) {
        check(i, sample, scratch);
        done_.fetch_add(1);
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!broke_) broke_ = std::current_exception();
      next_.store(pack_.count());
    }
    ended_.fetch_add(1);
  }

  std::uint64_t done() const { return done_.load(); }
  std::uint64_t ended() const { return ended_.load(); }

  // Call after all threads have ended.
  PixelCheck result() {
    if (broke_) std::rethrow_exception(broke_);
    const auto record = [](const Error& error) { return error.where().record.value_or(0); };
    std::sort(result_.damage.begin(), result_.damage.end(),
              [&](const Error& a, const Error& b) { return record(a) < record(b); });
    return std::move(result_);
  }

 private:
  void check(std::uint64_t i, Sample& sample, DecodeScratch& scratch) {
    if (pack_.info(i).codec == Codec::unknown) {
      const std::lock_guard lock(mutex_);
      ++result_.not_decodable;
      return;
    }
    try {
      pack_.read(sample, i, FieldSet{1} << field_);
    } catch (const Error& error) {
      if (exit_of(error.code()) != kDamaged) throw;
      return;
    }
    const Bytes bytes = sample.fields.at(static_cast<std::size_t>(field_));
    NoSink sink;
    ImageHeader header;
    std::optional<Fault> fault = pack_.read_header(header, i, bytes, Limits{});
    if (!fault) {
      const Window all{.width = static_cast<int>(header.width),
                       .height = static_cast<int>(header.height)};
      fault = decode(sink, bytes, header, all, scratch);
    }
    std::optional<Error> bad;
    if (fault) bad.emplace(*fault, pack_.where_in(i, field_));
    const std::lock_guard lock(mutex_);
    if (bad) {
      result_.damage.push_back(std::move(*bad));
    } else {
      ++result_.decoded;
    }
  }

  const Pack& pack_;
  const int field_;
  std::atomic<std::uint64_t> next_{0}, done_{0}, ended_{0};
  std::mutex mutex_;  // guards everything below
  PixelCheck result_;
  std::exception_ptr broke_;
};

}  // namespace

PixelCheck check_pixels(const Pack& pack, std::uint64_t threads, const Shell& shell) {
  const int field = pack.schema().find(FieldType::image);
  if (field < 0) return {};
  Work work(pack, field);
  {
    Progress progress(shell, "decoding", "img");
    std::vector<std::jthread> workers;
    for (std::uint64_t t = 0; t < threads; ++t) workers.emplace_back([&] { work.run(); });
    while (work.ended() < threads) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      progress.show({.items = work.done(), .items_total = pack.count()});
    }
  }
  check_interrupt(pack.path());
  return work.result();
}

}  // namespace tundish::cli
