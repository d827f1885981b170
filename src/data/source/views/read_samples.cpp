#include "data/source/views/read_samples.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "base/interruption.h"
#include "base/machine/usable_cpus.h"
#include "codec/decode/decode.h"

namespace tundish {
namespace {

constexpr auto kProgressEvery = std::chrono::milliseconds(100);

class ThreadedRead {
 public:
  ThreadedRead(const Source& source, std::span<const std::uint64_t> numbers, const ReadWork& work)
      : source_(source), numbers_(numbers), work_(work) {}

  void run() {
    std::size_t wanted =
        work_.threads > 0 ? static_cast<std::size_t>(work_.threads) : usable_cpus();
    wanted = std::min(wanted, numbers_.size());
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < wanted; ++t) {
      try {
        running_.fetch_add(1);
        threads.emplace_back([this] { read(); });
      } catch (const std::exception&) {
        running_.fetch_sub(1);
        if (threads.empty()) throw;
        break;  // fewer threads suffice
      }
    }
    watch();
    threads.clear();
    if (error_) std::rethrow_exception(error_);
    check_stop(source_.path());
  }

 private:
  void read() {
    try {
      Sample sample;
      for (std::size_t k; (k = next_.fetch_add(1)) < numbers_.size();) {
        const std::uint64_t i = numbers_[k];
        try {
          source_.read_original(sample, i, work_.fields);
        } catch (const SampleError& error) {
          if (error.code() == ErrorCode::no_memory) throw;
          work_.bad(k, i, error);
          continue;
        }
        work_.visit(k, i, sample);
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
      next_.store(numbers_.size());
    }
    const std::lock_guard lock(mutex_);
    running_.fetch_sub(1);
    ended_.notify_one();
  }

  void watch() {
    std::unique_lock lock(mutex_);
    while (!ended_.wait_for(lock, kProgressEvery, [this] { return running_.load() == 0; })) {
      if (stop_requested()) next_.store(numbers_.size());
      const std::size_t done = std::min(next_.load(), numbers_.size());
      if (work_.progress && done < numbers_.size()) work_.progress(done, numbers_.size());
    }
  }

  const Source& source_;
  const std::span<const std::uint64_t> numbers_;
  const ReadWork& work_;
  std::atomic<std::size_t> next_{0};
  std::atomic<std::size_t> running_{0};
  std::mutex mutex_;  // guards the members below while threads run
  std::condition_variable ended_;
  std::exception_ptr error_;
};

void read_by_scan(const Source& source, std::span<const std::uint64_t> numbers,
                  const ReadWork& work) {
  std::size_t k = 0;
  auto told = std::chrono::steady_clock::now();
  const auto go_on = [&] {
    check_stop(source.path());
    const auto now = std::chrono::steady_clock::now();
    if (work.progress && now - told > kProgressEvery) {
      work.progress(k, numbers.size());
      told = now;
    }
    return k < numbers.size();
  };
  source.scan(
      [&](std::uint64_t i, Sample& sample) {
        if (k < numbers.size() && numbers[k] == i) work.visit(k++, i, sample);
        return go_on();
      },
      [&](std::uint64_t i, const SampleError& error) {
        if (error.code() == ErrorCode::no_memory) throw error;
        if (k < numbers.size() && numbers[k] == i) work.bad(k++, i, error);
        return go_on();
      });
  if (k != numbers.size()) {
    throw Error(ErrorCode::source_changed, {.file = source.path()},
                "fewer samples came than were announced");
  }
}

}  // namespace

void read_samples(const Source& source, std::span<const std::uint64_t> numbers,
                  const ReadWork& work) {
  if (numbers.empty()) return;
  if (source.random_access()) {
    ThreadedRead(source, numbers, work).run();
  } else {
    read_by_scan(source, numbers, work);
  }
}

}  // namespace tundish
