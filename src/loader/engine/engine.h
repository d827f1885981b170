// The engine of a loader: threads that fill batches ahead of the trainer, in order, without end:
// after the last batch of an epoch they go on with the first of the next.
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

// With LoaderOptions::for_gpu: batches enqueued to the GPU ahead of the one that the training loop
// gets. Besides them the loop has one, and one is being enqueued.
inline constexpr std::uint32_t kGpuLead = 2;
inline constexpr std::uint32_t kBatchesAtGpu = kGpuLead + 2;

// The images of one view of a finished batch.
struct BatchView {
  std::byte* pixels = nullptr;
  bool lent = false;  // the pixels are in lent memory, which is its owner's from now on
  Size size;
  Dtype dtype = Dtype::uint8;
  int channels = 3;
  bool has_16_bits = false;        // levels do, and dtype is uint8
  std::uint32_t crops = 1;         // images of each sample
  std::optional<ArrayType> array;  // of samples without an image: `pixels` are its elements
  // With LoaderOptions::for_gpu: what becomes of each image of `pixels` (cuda/augment/finish.h).
  // Images that are not among them are in the slot's GpuSlotData.
  std::vector<cuda::Target> targets;
};

// An image of a batch that comes as a list.
struct BatchImage {
  std::byte* pixels;
  Size size;
};

// A finished batch. The memory belongs to the slot, which goes back to the ring when the last
// owner releases it.
struct Batch {
  std::shared_ptr<Slot> slot;  // second owner: each tensor made from it
  std::uint64_t epoch = 0;
  std::uint64_t next = 0;   // global position after it
  std::uint32_t count = 0;  // samples
  bool channels_first = false;
  std::vector<BatchView> views;
  bool is_list = false, has_sizes = false;    // there is one:
  std::vector<BatchImage> list;               // the images, instead of the view's pixels
  std::vector<std::int64_t> labels, samples;  // one per sample
  std::vector<std::int64_t> sizes;  // height and width of each image, before it was padded
  std::vector<std::size_t> places;  // of the slot, one per sample: for the other fields
  std::vector<std::size_t> guests;  // filled places of other ranks' images (mixer.h)
  std::uint32_t classes = 0;       // of labels that are vectors, (N, classes), also by mixing; or 0
  std::vector<float> soft_labels;  // those vectors, unless a GPU makes them
};

class Engine {
 public:
  // Checks the options against the source. Starts no thread yet. Throws Error.
  Engine(std::shared_ptr<const Source> source, LoaderOptions options);

  // Ends the threads, unless end() has done so.
  ~Engine();

  // One trainer: start and next are called by one thread at a time.

  // Any thread. One of the next batches is made in this memory, when it is large enough, and not in
  // memory of the engine. Aligned to 64 bytes. The caller keeps owning it; it must be valid until
  // that batch is delivered (Batch::lent) or end() reports that no thread is left.
  void lend(std::span<std::byte> memory);

  // The next batch is the one at this position. Keeps the prefetched batches if the first of them
  // is that one.
  void start(std::uint64_t epoch, std::uint64_t position);

  // With LoaderOptions::for_gpu: whether a GPU decodes the batches that are opened from now on. The
  // pixels are the same. At first as LoaderOptions::decode says, with "auto" the CPU. False when it
  // cannot; gpu_maker()->why_not() gives the reason.
  bool decode_on_gpu(bool on_gpu);
  bool decodes_on_gpu() const;
  bool can_choose_decoder() const;  // decode="auto", and both can decode
  GpuMaker* gpu_maker() const;      // null without LoaderOptions::for_gpu
  const Mixer* mixer() const;       // null unless the transforms mix images

  // The trainer's thread, once started: so many threads work from now on, at least 1. Batches stay
  // the same. With tune_threads the number goes on changing.
  void set_threads(std::size_t threads);

  // The same for the batches that are kept ready; not with a memory budget, which pays for those of
  // LoaderOptions::prefetch.
  void set_prefetch(std::size_t batches);

  // LoaderOptions::tune_threads: the number of threads stays what it is until hold_tuning(false),
  // while something else is measured.
  void hold_tuning(bool held);
  std::deque<TuningEntry> tuning_entries() const;  // the newest choices, oldest first; any thread

  enum class Next { batch, again, end };

  // Waits up to `timeout`. A batch whose samples are all bad and skipped does not come, unless
  // there are other ranks. `end`: the epoch is over, and the answer stays so; start() the next one.
  // Throws SampleError (OnError::fail), Error(unequal_sizes, ...); the batch is then gone, and the
  // following call gives the one after it. Error(too_many_bad) by max_bad comes after the batch
  // that was one too many, and before the next, which is kept.
  Next next(Batch& out, std::chrono::nanoseconds timeout);

  // The trainer's thread. A GPU could not decode a sample of a batch that was delivered: its image
  // is zeros, and it is a bad sample from now on, with the position that it has in `epoch`. Throws
  // `error` with OnError::fail, Error(too_many_bad) when not one sample was good; the verdict by
  // max_bad comes from the following call of next(). `wanted`: false when its iteration was left;
  // the sample is then counted and not reported.
  void enter_zeros(std::uint64_t sample, std::uint64_t epoch, std::uint64_t position,
                   const SampleError& error, bool wanted);

  std::uint64_t steps_from(std::uint64_t position) const;  // to the end of an epoch
  const RunIdentity& identity() const;                     // what a saved state belongs to
  const Recipe& recipe() const;                            // for loader/engine/replay.h
  const LoaderOptions& options() const;
  LoaderStats stats() const;
  void new_window();                           // shares and quantiles of stats() begin again
  std::uint64_t bad_positions() const;         // replaced, skipped or zeros; quicker than stats()
  std::uint64_t ready() const;                 // batches that wait for the trainer
  std::vector<std::string> warnings() const;   // about these options and this source, for people
  std::vector<BadSample> bad_samples() const;  // the first 10,000

  // What a thread reads or decodes for longer than `limit`, each reported once: "reading record 12
  // of FILE for 31 s". For the thread that waits in next(). Quick, without I/O.
  std::vector<std::string> hanging(std::chrono::nanoseconds limit);

  // Any thread, any time; nothing in a forked child. Throw Error.
  void trace_to(const std::string& path);  // records for this file, from now on; empty: no more
  void write_trace() const;                // nothing when none was recorded

  // Any thread: wakes next() and ends everything.
  void close();

  // close(), then waits for the threads. One that is stuck in a system call is left behind after
  // 0.9 s with all that it uses; nothing else waits for it. Returns what each of these is doing:
  // "reading record 12 of FILE". In a forked child there are no threads, and nothing is done.
  std::vector<std::string> end();

 private:
  struct Shared;
  void start_threads(std::size_t wanted);  // with the mutex of Shared held, as the next
  void tune(std::uint64_t begin_ns, std::uint64_t end_ns, const Slot* received);  // null: none
  Next take(Batch& out, std::chrono::nanoseconds timeout);  // also a batch that is left out

  std::shared_ptr<Shared> shared_;    // second owner: each worker, so that one can be left behind
  std::vector<std::thread> threads_;  // guarded by the mutex of Shared
  std::atomic<bool> ended_ = false;
};

}  // namespace tundish
