// Fields of loader.stats(), described once: base/fields.h. Sums are since the loader was created;
// shares and quantiles since the last window started (stats(reset=True)).
#pragma once

#include <cstdint>

#include "base/fields.h"

namespace tundish {

struct LoaderStats {
  static constexpr const char* kName = "stats";
  static constexpr const char* kAbout = "What Loader.stats() gives.";
  static constexpr const char* kPrefix = "data/";  // prefix of every key, as loggers group keys

  std::uint64_t batches = 0, samples = 0, replaced = 0, skipped = 0, zeros = 0, bad = 0, bytes = 0;
  double read_s = 0, decode_s = 0, augment_s = 0, wait_s = 0;
  double elapsed_s = 0, thread_s = 0;  // seconds since the threads were started
  double wait_p50_s = 0, wait_p99_s = 0, wait_share = 0;
  double read_busy = 0, decode_busy = 0, augment_busy = 0;
  std::uint64_t ready_batches = 0, prefetch = 0, slots = 0, threads = 0, thread_changes = 0;
  double predicted_rate = 0, prediction_ratio = 0;
  std::uint64_t memory = 0, memory_used = 0;
  std::uint64_t cache_hits = 0, cache_misses = 0;
  double cache_hit_share = 0;
  std::uint64_t cache_bytes = 0, cache_needed = 0, cache_room = 0;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(FieldInfo{"batches", "batches delivered"}, self.batches);
    visit(FieldInfo{"samples", "images in those batches"}, self.samples);
    visit(FieldInfo{"replaced", "bad samples that were replaced by another sample"}, self.replaced);
    visit(FieldInfo{"skipped", "bad samples that were left out"}, self.skipped);
    visit(FieldInfo{"zeros", "images of zeros among the samples, which a GPU could not decode"},
          self.zeros);
    visit(FieldInfo{"bad", "failed loads, including loads of replacements"}, self.bad);
    visit(FieldInfo{"bytes", "bytes of coded images read"}, self.bytes);
    visit(FieldInfo{"read_s", "seconds that threads read, summed over threads"}, self.read_s);
    visit(FieldInfo{"decode_s", "seconds that threads decoded, summed over threads"},
          self.decode_s);
    visit(FieldInfo{"augment_s", "seconds that threads augmented, summed over threads"},
          self.augment_s);
    visit(FieldInfo{"wait_s", "seconds that the trainer waited for batches"}, self.wait_s);
    visit(FieldInfo{"elapsed_s", "seconds since the threads were started"}, self.elapsed_s);
    visit(FieldInfo{"wait_p50_s", "median wait per batch, in this window"}, self.wait_p50_s);
    visit(FieldInfo{"wait_p99_s", "p99 wait per batch, in this window"}, self.wait_p99_s);
    visit(FieldInfo{"wait_share", "share of the wall time that the trainer waited, in this window"},
          self.wait_share);
    visit(FieldInfo{"read_busy", "share of the threads' time that was reading, in this window"},
          self.read_busy);
    visit(FieldInfo{"decode_busy", "share of the threads' time that was decoding, in this window"},
          self.decode_busy);
    visit(FieldInfo{"augment_busy",
                    "share of the threads' time that was augmenting, in this window; "
                    "the rest is idle time"},
          self.augment_busy);
    visit(FieldInfo{"ready_batches", "batches that wait for the trainer now"}, self.ready_batches);
    visit(FieldInfo{"prefetch", "current maximum number of batches kept ready"}, self.prefetch);
    visit(FieldInfo{"slots", "batches that have memory now, including batches kept by the caller"},
          self.slots);
    visit(FieldInfo{"threads", "threads that work for the loader now"}, self.threads);
    visit(FieldInfo{"thread_s", "seconds that the threads were available, summed over threads"},
          self.thread_s);
    visit(FieldInfo{"thread_changes",
                    "number of times that threads=\"auto\" changed threads or prefetch"},
          self.thread_changes);
    visit(FieldInfo{"predicted_rate",
                    "samples per second that these threads could make according to the cost model "
                    "of threads=\"auto\"; 0: unknown"},
          self.predicted_rate);
    visit(
        FieldInfo{
            "prediction_ratio",
            "measured rate divided by predicted rate after the last change; 0: no change yet"},
        self.prediction_ratio);
    visit(FieldInfo{"memory", "bytes of the budget; 0: not counted"}, self.memory);
    visit(FieldInfo{"memory_used", "maximum number of budget bytes used at once"},
          self.memory_used);
    visit(FieldInfo{"cache_hits", "samples found in the cache"}, self.cache_hits);
    visit(FieldInfo{"cache_misses", "samples not found in the cache"}, self.cache_misses);
    visit(FieldInfo{"cache_hit_share", "hits as a share of hits and misses"}, self.cache_hit_share);
    visit(FieldInfo{"cache_bytes", "bytes that the cache holds now"}, self.cache_bytes);
    visit(FieldInfo{"cache_needed", "bytes that all samples would take; 0: unknown"},
          self.cache_needed);
    visit(FieldInfo{"cache_room", "bytes that the cache had room for when the loader was made"},
          self.cache_room);
  }
};

}  // namespace tundish
