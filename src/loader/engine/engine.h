// The engine of a loader: threads that fill batches ahead of the trainer, in order and without end.
// After the last batch of an epoch they continue with the first batch of the next.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "cuda/augment/target.h"
#include "data/order/order.h"
#include "data/order/sampling.h"
#include "data/order/schedule.h"
#include "loader/engine/ring.h"
#include "loader/engine/tuning/tuner.h"
#include "loader/monitor/bad_sample.h"
#include "loader/monitor/meter.h"
#include "loader/sample/sample.h"
#include "loader/state/loader_options.h"
#include "loader/state/saved_state.h"

namespace tundish {

class GpuMaker;
class Mixer;

// With LoaderOptions::for_gpu: number of batches enqueued to the GPU ahead of the training loop.
// In addition, the loop holds one batch, and one is being enqueued.
inline constexpr std::uint32_t kGpuPrefetchDepth = 2;
inline constexpr std::uint32_t kBatchesAtGpu = kGpuPrefetchDepth + 2;

// The images of one view of a finished batch.
struct BatchView {
  std::byte* pixels = nullptr;
  bool lent = false;  // in lent memory, which belongs to its owner from now on
  Size size;
  Dtype dtype = Dtype::uint8;
  int channels = 3;
  bool has_16_bits = false;        // levels have 16 bits, dtype is uint8
  std::uint32_t crops = 1;         // images per sample
  std::optional<ArrayType> array;  // samples without an image: type of the elements in `pixels`
  // With LoaderOptions::for_gpu: destination of each image in `pixels` (cuda/augment/finish.h).
  // Images not listed here are in the slot's GpuSlotData.
  std::vector<cuda::Target> targets;
};

// An image of a batch delivered as a list.
struct BatchImage {
  std::byte* pixels;
  Size size;
};

// A finished batch. The slot owns the memory; it returns to the ring when the last owner releases
// the slot.
struct Batch {
  std::shared_ptr<Slot> slot;  // shared with each tensor made from it
  std::uint64_t epoch = 0;
  std::uint64_t next = 0;   // global position after the batch
  std::uint32_t count = 0;  // number of samples
  bool channels_first = false;
  std::vector<BatchView> views;
  bool is_list = false, has_sizes = false;    // whether `list`, `sizes` are set
  std::vector<BatchImage> list;               // images of a list; replaces the views' pixels
  std::vector<std::int64_t> labels, samples;  // one per sample
  std::vector<std::int64_t> sizes;            // height and width of each image, before padding
  std::vector<std::size_t> places;            // slot places, one per sample, for the other fields
  std::vector<std::size_t> foreign_partners;  // filled places of partners (mixer.h)
  std::uint32_t classes = 0;       // length of label vectors (N, classes), also from mixing; or 0
  std::vector<float> soft_labels;  // label vectors, unless a GPU computes them
};

class Engine {
 public:
  // Checks the options against the source. Starts no threads. Throws Error.
  Engine(std::shared_ptr<const Source> source, LoaderOptions options);

  // Ends the threads unless end() already did.
  ~Engine();

  // start() and next() must be called by one thread at a time, the trainer.

  // Any thread. Lends memory, aligned to 64 bytes, to one of the next batches. A batch uses memory
  // that is large enough. The caller keeps ownership. The memory must stay valid until
  // that batch is delivered (Batch::lent) or end() reports that no thread is left.
  void lend(std::span<std::byte> memory);

  // Makes the batch at this position the next one. Keeps the prefetched batches if they start with
  // this batch.
  void start(std::uint64_t epoch, std::uint64_t position);

  // With LoaderOptions::for_gpu: selects whether a GPU decodes the batches opened from now on. The
  // pixels are the same. The initial value is LoaderOptions::decode, or the CPU for "auto". Returns
  // false if impossible; gpu_maker()->why_not() returns the reason.
  bool decode_on_gpu(bool on_gpu);
  bool decodes_on_gpu() const;
  bool can_choose_decoder() const;  // decode="auto", and both can decode
  GpuMaker* gpu_maker() const;      // null without LoaderOptions::for_gpu
  const Mixer* mixer() const;       // null unless the transforms mix images

  // Trainer's thread, after start(). Sets the number of active threads, at least 1. Batches stay
  // the same. With tune_threads the number keeps changing.
  void set_threads(std::size_t threads);

  // Sets the number of batches kept ready. Not with a memory budget, which only covers
  // LoaderOptions::prefetch.
  void set_prefetch(std::size_t batches);

  // LoaderOptions::tune_threads: freezes the number of threads until hold_tuning(false), while
  // something else is measured.
  void hold_tuning(bool held);
  std::deque<TuningEntry> tuning_entries() const;  // newest choices, oldest first; any thread

  enum class Next { batch, again, end };

  // Waits up to `timeout` for a batch. Omits a batch whose samples are all bad and skipped, unless
  // there are other ranks. `end`: the epoch is over, until start(). Throws SampleError
  // (OnError::fail) or Error(unequal_sizes, ...). The batch is then lost, and the following call
  // returns the next one. If a batch exceeds max_bad, the call after it throws Error(too_many_bad);
  // the next batch is kept.
  Next next(Batch& out, std::chrono::nanoseconds timeout);

  // Trainer's thread. Reports that a GPU could not decode a sample of a delivered batch. Its image
  // is zeros, and it counts as a bad sample at its position in `epoch`. Throws `error` with
  // OnError::fail, and Error(too_many_bad) if no sample was good so far. If the sample exceeds
  // max_bad, the next call of next() throws the error. `wanted`: false if the iteration of the
  // sample was abandoned; the sample is then counted but not reported.
  void record_zeros(std::uint64_t sample, std::uint64_t epoch, std::uint64_t position,
                    const SampleError& error, bool wanted);

  std::uint64_t steps_from(std::uint64_t position) const;  // steps to the end of an epoch
  const RunIdentity& identity() const;                     // identity stored in a saved state
  const Recipe& recipe() const;                            // for loader/engine/replay.h
  const LoaderOptions& options() const;
  LoaderStats stats() const;
  void new_window();                           // restarts the shares and quantiles of stats()
  std::uint64_t bad_positions() const;         // replaced, skipped or zeros; faster than stats()
  std::uint64_t ready() const;                 // batches waiting for the trainer
  std::vector<std::string> warnings() const;   // user-facing, about the options and the source
  std::vector<BadSample> bad_samples() const;  // the first 10,000

  // Returns reads and decodes that take longer than `limit`, each reported once: "reading record 12
  // of FILE for 31 s". Called by the thread that waits in next(). Fast, without I/O.
  std::vector<std::string> hanging(std::chrono::nanoseconds limit);

  // Any thread, any time; no effect in a forked child. Throw Error.
  void trace_to(const std::string& path);  // records for this file from now on; empty stops
  void write_trace() const;                // no effect if nothing was recorded

  // Any thread: makes next() return and stops everything.
  void close();

  // Calls close() and waits for the threads. A thread stuck in a system call is abandoned after
  // 0.9 s with all its resources. Returns the activity of each abandoned thread, such as
  // "reading record 12 of FILE". In a forked child there are no threads, and nothing is done.
  std::vector<std::string> end();

 private:
  struct Shared;
  void start_threads(std::size_t wanted);  // Shared::mutex must be held, also for tune()
  void tune(std::uint64_t begin_ns, std::uint64_t end_ns, const Slot* received);  // null: no batch
  Next take(Batch& out, std::chrono::nanoseconds timeout);  // also returns omitted batches

  std::shared_ptr<Shared> shared_;    // shared with the workers, one of which may be abandoned
  std::vector<std::thread> threads_;  // guarded by Shared::mutex
  std::atomic<bool> ended_ = false;
};

}  // namespace tundish
