// Activity and totals of one thread. Written by that thread only, without locks; read by all.
#pragma once

#include <time.h>

#include <atomic>
#include <cstdint>

#include "base/trace/trace.h"

namespace tundish {

// A sum that one thread adds to and other threads read.
class Counter {
 public:
  void add(std::uint64_t value) {
    sum_.store(sum_.load(std::memory_order_relaxed) + value, std::memory_order_relaxed);
  }
  std::uint64_t sum() const { return sum_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> sum_{0};
};

struct alignas(64) WorkerStatus {  // a separate cache line: its thread writes it for every sample
  enum class Activity : std::uint8_t { waiting, reading, decoding, ended };
  std::atomic<Activity> activity{Activity::waiting};
  std::atomic<std::uint64_t> sample{0};    // valid while reading or decoding
  std::atomic<std::uint64_t> since_ns{0};  // start of the activity

  Counter samples, read_ns, decode_ns, augment_ns, bytes, cache_hits, cache_misses;
  std::atomic<clockid_t> cpu_clock{0};  // clock of the running thread; 0: unknown
  std::atomic<Track*> track{nullptr};   // track in the trace; null: no trace

  std::uint64_t reported_ns = 0;  // since_ns last reported by the watchdog; trainer's thread
};

}  // namespace tundish
