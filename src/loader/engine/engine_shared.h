// State shared by the engine's source files. Internal.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>

#include "base/trace/trace.h"
#include "loader/engine/bad_ledger.h"
#include "loader/engine/cpu_maker.h"
#include "loader/engine/delivery/batch_delivery.h"
#include "loader/engine/engine.h"
#include "loader/engine/engine_cache.h"
#include "loader/engine/gpu/gpu_maker.h"
#include "loader/engine/mixer.h"
#include "loader/memory/budget.h"
#include "loader/monitor/publisher.h"

namespace tundish {

// Everything that the workers access. Owned jointly by the workers and the Engine.
struct Engine::Shared {
  Shared(std::shared_ptr<const Source> source, LoaderOptions options_in);

  void make_recipe(std::shared_ptr<const Source> source);
  void find_label_vectors();
  void make_array_recipe();
  void make_mixer();
  void make_gpu_maker();
  void make_tuner();
  void trace_to(const std::string& path);  // mutex must be held, also for the next
  Track& worker_track(std::size_t number);
  int most_open() const;
  void measure_batch(const Slot& slot);
  void work(WorkerStatus& status, std::size_t number);
  bool open_next(Slot& slot);
  void deliver(Batch& out, const std::shared_ptr<Slot>& slot, bool epoch_begins);
  LoaderStats stats() const;
  void publish_when_due(std::uint64_t now);  // for `tundish top`; trainer's thread

  LoaderOptions options;
  std::unique_ptr<MemoryBudget> budget;
  CacheSetup cache;
  Recipe recipe;
  std::atomic<bool> decode_on_gpu = false;
  std::atomic<bool> tuning_held = false;
  Order order;
  Schedule schedule;
  RunIdentity identity;
  Ring ring;
  std::shared_ptr<LentMemory> lent = std::make_shared<LentMemory>();  // shared with the slots
  CpuMaker cpu_maker{recipe, options, order, cache, lent};
  std::unique_ptr<Mixer> mixer;         // set if the transforms mix images
  std::unique_ptr<GpuMaker> gpu_maker;  // set with for_gpu
  pid_t process = ::getpid();

  // Position at which the ring opens the next batch; guarded by the ring's lock.
  std::uint64_t open_epoch = 0, open_position = 0;

  // The trainer's position.
  bool started = false;
  std::uint64_t epoch = 0, position = 0;
  std::optional<Error> pending_error;  // about bad samples; the next call of next() throws it
  std::uint64_t publish_ns = 0;        // time of the next publication

  WorkerStatus trainer;
  BatchDelivery delivery{recipe, options, cpu_maker, trainer};
  mutable std::mutex mutex;      // guards the following members
  std::unique_ptr<Trace> trace;  // created once; tracks are read without the mutex
  std::condition_variable idle;
  int running = 0;                   // threads
  std::deque<WorkerStatus> workers;  // one per started thread; addresses are stable
  Meter meter;
  std::unique_ptr<Tuner> tuner;   // set with tune_threads
  std::uint64_t batch_bytes = 0;  // bytes of the largest batch; set with a tuner
  BadLedger bad;
  std::unique_ptr<Publisher> publisher;  // exists while threads run
  std::exception_ptr broken;             // error of a worker that had to stop
};

}  // namespace tundish
