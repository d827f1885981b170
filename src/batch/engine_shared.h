// Inside of the engine: what its files share.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>

#include "batch/bad_ledger.h"
#include "batch/budget.h"
#include "batch/coded_batch.h"
#include "batch/engine.h"
#include "batch/engine_cache.h"
#include "batch/layout.h"
#include "trace/trace.h"

namespace tundish {

// Everything the workers touch. They own it together with the Engine.
struct Engine::Shared {
  Shared(std::shared_ptr<const Source> source_in, LoaderOptions options_in);

  void work(Doing& doing);
  void fill(Slot& slot, std::size_t number, const Placer& placer,
            std::unique_ptr<Scratch>& scratch);
  void load(Slot& slot, std::size_t number, const Placer& placer,
            std::unique_ptr<Scratch>& scratch);
  std::size_t image_bytes(Size size) const {
    return tundish::image_bytes(size, recipe.table.dtype);
  }
  Placement placement(std::byte* base, Size size) const {
    return tundish::placement(base, size, recipe.table.dtype,
                              options.channels_first() && !options.for_gpu);
  }
  // Behind the images of a batch for a GPU: numbers that are copied with them.
  std::size_t tail_bytes(std::size_t images) const {
    return options.for_gpu ? kGpuTailBytes * images + 2 * kHostAlignment : 0;
  }
  Placement place_in(Slot& slot, std::size_t number, Size size);
  void take_memory(Slot& slot, Size size);
  void fill_coded(Slot& slot, cuda::BatchPlan& plan, std::unique_ptr<Scratch>& scratch);
  bool add_coded(Slot& slot, std::size_t number, cuda::BatchPlan& plan, Scratch& scratch);
  std::int64_t label_of(std::uint64_t sample) const;
  void keep_fields(Place& place, const Sample& sample) const;
  bool open_next(Slot& slot);
  void settle_size(Slot& slot);
  void deliver(Batch& out, const std::shared_ptr<Slot>& slot, bool epoch_begins);

  LoaderOptions options;
  std::unique_ptr<MemoryBudget> budget;
  CacheSetup cache;
  Recipe recipe;
  CodedOptions coded;
  std::string why_not_coded;  // when a GPU cannot decode for this loader
  std::atomic<bool> decode_there = false;
  Order order;
  Schedule schedule;
  Ring ring;
  std::shared_ptr<LentMemory> lent = std::make_shared<LentMemory>();  // also the slots own it
  pid_t process = ::getpid();

  // Where the ring opens the next batch; used with the ring locked.
  std::uint64_t open_epoch = 0, open_position = 0;

  // The trainer's place.
  bool started = false;
  std::uint64_t epoch = 0, position = 0;
  std::optional<Error> verdict;  // on bad samples, for the next call of next()

  Doing trainer;
  std::unique_ptr<Trace> trace;
  mutable std::mutex mutex;  // guards what follows
  std::condition_variable idle;
  int running = 0;            // threads
  std::deque<Doing> workers;  // one for each that was started; they stay where they are
  Meter meter;
  BadLedger bad;
  std::exception_ptr broken;  // a worker could not go on
};

}  // namespace tundish
