#include "batch/engine.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <thread>

#include "batch/bad_ledger.h"
#include "batch/fingerprint.h"
#include "batch/watchdog.h"
#include "core/clock.h"
#include "core/usable_cpus.h"

namespace tundish {
namespace {

constexpr std::uint32_t kMaxSubstitutes = 16;
constexpr auto kJoinTimeout = std::chrono::milliseconds(900);

}  // namespace

// Everything the workers touch. They own it together with the Engine.
struct Engine::Shared {
  Shared(std::shared_ptr<const Source> source_in, EngineOptions options_in);

  void work(Doing& doing);
  void fill(Slot& slot, std::size_t number, const Placer& placer, Scratch& scratch);
  std::size_t image_bytes(Size size) const;
  Placement placement(std::byte* base, Size size) const;
  Placement place_in(Slot& slot, std::size_t number, Size size);
  void take_memory(Slot& slot, Size size);
  std::int64_t label_of(std::uint64_t sample) const;
  void keep_fields(Place& place, const Sample& sample) const;
  bool open_next(Slot& slot);
  void settle_size(Slot& slot);
  void deliver(Batch& out, const std::shared_ptr<Slot>& slot, bool epoch_begins);

  EngineOptions options;
  Recipe recipe;
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

Engine::Shared::Shared(std::shared_ptr<const Source> source_in, EngineOptions options_in)
    : options(std::move(options_in)),
      ring(static_cast<std::size_t>(std::max(options.prefetch, 1))),
      bad(source_in->path(), options.max_bad) {
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorCode::argument, {.file = source_in->path()}, why);
  };
  const std::uint64_t count = source_in->count();
  if (options.batch_size == 0) refuse("batch_size must be at least 1");
  if (options.world_size == 0 || options.rank >= options.world_size) {
    refuse(fmt::format("rank {} of a world of {}", options.rank, options.world_size));
  }
  if (!source_in->random_access()) {
    throw Error(ErrorCode::no_random_access, {.file = source_in->path()}, "");
  }
  if (count == 0) throw Error(ErrorCode::source_empty, {.file = source_in->path()}, "no samples");
  if (!options.labels.empty() && options.labels.size() != count) {
    refuse(fmt::format("{} labels for {} samples", options.labels.size(), count));
  }
  check_transforms(options.transforms);
  recipe.image_field = source_in->schema().find(FieldType::image);
  if (recipe.image_field < 0) refuse("its samples have no image");
  recipe.source = std::move(source_in);
  recipe.fields = options.all_fields ? kAllFields : 0;
  recipe.seed = options.seed;
  recipe.transforms = options.transforms;
  recipe.table = pixel_table(options.transforms);
  recipe.exif_orientation = options.exif_orientation;
  recipe.limits = options.limits;
  if (options.threads <= 0) options.threads = static_cast<int>(usable_cpus());
  if (!options.trace.empty()) {
    trace = std::make_unique<Trace>(
        options.trace, options.trace_bytes, static_cast<std::size_t>(options.threads) + 1,
        fmt::format("tundish rank {} of {}", options.rank, options.world_size),
        static_cast<int>(options.rank));
    trainer.track = &trace->new_track("trainer");
  }
  order = make_order(
      options.sampling, count, [this](std::uint64_t sample) { return label_of(sample); },
      options.seed, options.shuffle);
  schedule = {.count = epoch_length(order),
              .batch_size = options.batch_size,
              .rank = options.rank,
              .world_size = options.world_size,
              .uneven = options.uneven};
}

bool Engine::Shared::open_next(Slot& slot) {
  if (tundish::steps_from(schedule, open_position) == 0) {
    ++open_epoch;
    open_position = 0;
    if (tundish::steps_from(schedule, 0) == 0) return false;  // less than one global batch
  }
  const Step step = step_at(schedule, open_position);
  slot.epoch = open_epoch;
  slot.first = step.first;
  slot.next = step.next;
  slot.places.resize(step.size);
  open_position = step.next;
  return true;
}

// The first image that is planned sets the size of the batch; one of another size is left out
// here and looked at again when the batch is delivered.
Placement Engine::Shared::place_in(Slot& slot, std::size_t number, Size size) {
  slot.places[number].size = size;
  {
    std::lock_guard lock(slot.mutex);
    if (slot.size == Size{}) {
      take_memory(slot, size);
      slot.size = size;
    }
    if (slot.size != size) return {};
  }
  return placement(slot.pixels.data() + number * image_bytes(size), size);
}

void Engine::Shared::take_memory(Slot& slot, Size size) {
  const std::size_t bytes = image_bytes(size) * slot.places.size();
  if (!slot.pixels.borrow(bytes, lent)) slot.pixels.reserve(bytes, options.memory);
}

std::size_t Engine::Shared::image_bytes(Size size) const {
  return 3 * static_cast<std::size_t>(size.width) * static_cast<std::size_t>(size.height) *
         dtype_bytes(recipe.table.dtype);
}

Placement Engine::Shared::placement(std::byte* base, Size size) const {
  const auto width = static_cast<std::size_t>(size.width);
  const auto height = static_cast<std::size_t>(size.height);
  const std::size_t element = dtype_bytes(recipe.table.dtype);
  const auto bytes_of = [&](std::size_t elements) {
    return static_cast<std::ptrdiff_t>(elements * element);
  };
  if (options.channels_first) {
    return {base, bytes_of(width), bytes_of(1), bytes_of(width * height)};
  }
  return {base, bytes_of(3 * width), bytes_of(3), bytes_of(1)};
}

void Engine::Shared::fill(Slot& slot, std::size_t number, const Placer& placer, Scratch& scratch) {
  Place& place = slot.places[number];
  const std::uint64_t at = slot.first + number;
  place.draw = draw_at(order, slot.epoch, at);
  for (std::uint32_t attempt = 0;; ++attempt) {
    try {
      load_sample(placer, recipe, slot.epoch, place.draw, scratch);
      if (options.all_fields) check_fields(recipe, place.draw.sample, scratch.sample);
      place.filled = true;
      tally(scratch);
      break;
    } catch (const SampleError& error) {
      tally(scratch);
      place.bad.push_back({.sample = place.draw.sample,
                           .epoch = slot.epoch,
                           .position = at,
                           .code = error.code(),
                           .where = error.where(),
                           .reason = error.reason(),
                           .text = error.what(),
                           .replaced_by = {}});
      if (Track* track = scratch.doing->track) {
        track->add("batch.bad", scratch.begin_ns, now_ns() - scratch.begin_ns, place.draw.sample);
      }
      if (options.on_error == OnError::fail) throw;
      if (options.on_error == OnError::skip) return;
      if (attempt == kMaxSubstitutes) {
        throw Error(ErrorCode::too_many_bad, recipe.source->where(place.draw.sample), error.what());
      }
      place.draw = substitute_draw(order, slot.epoch, at, attempt);
    }
  }
  place.label = label_of(place.draw.sample);
  if (options.all_fields) keep_fields(place, scratch.sample);
}

std::int64_t Engine::Shared::label_of(std::uint64_t sample) const {
  return options.labels.empty() ? recipe.source->info(sample).label
                                : options.labels[static_cast<std::size_t>(sample)];
}

// All but the image, which is in the batch as pixels; its coded bytes may be larger than these.
void Engine::Shared::keep_fields(Place& place, const Sample& sample) const {
  place.fields.resize(sample.fields.size());
  for (std::size_t f = 0; f < sample.fields.size(); ++f) {
    if (static_cast<int>(f) != recipe.image_field) place.fields[f] = sample.fields[f];
  }
}

void Engine::Shared::work(Doing& doing) {
  try {
    Scratch scratch;
    scratch.doing = &doing;
    while (auto task = ring.claim()) {
      Slot& slot = *task->slot;
      try {
        fill(
            slot, task->place, [&](Size size) { return place_in(slot, task->place, size); },
            scratch);
      } catch (...) {
        task->slot->places[task->place].error = std::current_exception();
      }
      doing.stage = Doing::Stage::waiting;
      ring.done(std::move(*task));
    }
  } catch (...) {  // no memory even to claim: the trainer is told
    {
      std::lock_guard lock(mutex);
      broken = std::current_exception();
    }
    ring.close();
  }
  std::lock_guard lock(mutex);
  doing.stage = Doing::Stage::ended;
  --running;
  idle.notify_all();
}

// An image of another size than its batch was left out before it was decoded. It may be bad, and
// so may be the image that set the size. So the trainer's thread now finishes what was left out,
// in order, until two good images are known to differ (deliver() says so) or all agree.
void Engine::Shared::settle_size(Slot& slot) {
  const auto left_out = [&](const Place& place) { return place.filled && place.size != slot.size; };
  if (std::none_of(slot.places.begin(), slot.places.end(), left_out)) return;
  Scratch scratch;
  scratch.doing = &trainer;
  std::vector<std::vector<std::byte>> apart(slot.places.size());  // pixels outside the slot
  Size size;
  for (std::size_t i = 0; i < slot.places.size(); ++i) {
    Place& place = slot.places[i];
    if (left_out(place)) {
      place = {};
      const Placer placer = [&](Size planned) {
        place.size = planned;
        apart[i].resize(image_bytes(planned));
        return placement(apart[i].data(), planned);
      };
      try {
        fill(slot, i, placer, scratch);
      } catch (...) {
        place.error = std::current_exception();
      }
    }
    if (place.error) return;
    if (!place.filled) continue;
    if (size == Size{}) size = place.size;
    if (place.size != size) return;
  }
  if (slot.size != size) take_memory(slot, size);
  slot.size = size;
  for (std::size_t i = 0; i < slot.places.size(); ++i) {
    if (!slot.places[i].filled || apart[i].empty()) continue;
    std::memcpy(slot.pixels.data() + i * image_bytes(size), apart[i].data(), image_bytes(size));
  }
}

// Checks, then closes the gaps that skipped samples left.
void Engine::Shared::deliver(Batch& out, const std::shared_ptr<Slot>& slot, bool epoch_begins) {
  out = {};
  out.slot = slot;
  out.epoch = slot->epoch;
  out.next = slot->next;
  out.dtype = recipe.table.dtype;
  out.channels_first = options.channels_first;

  std::lock_guard lock(mutex);
  bad.enter(*slot, epoch_begins);
  const Place* first = nullptr;
  for (const Place& place : slot->places) {
    if (place.error) std::rethrow_exception(place.error);
    if (!place.filled) continue;
    if (!first) first = &place;
    if (place.size != first->size) {
      throw Error(ErrorCode::unequal_sizes, {.file = recipe.source->path()},
                  fmt::format("record {} gives {} x {} pixels, record {} in the same batch {} x {}",
                              first->draw.sample, first->size.width, first->size.height,
                              place.draw.sample, place.size.width, place.size.height));
    }
  }
  out.size = first ? first->size : fixed_size(options.transforms);
  const std::size_t step = image_bytes(out.size);
  for (std::size_t i = 0; i < slot->places.size(); ++i) {
    if (!slot->places[i].filled) continue;
    std::byte* pixels = slot->pixels.data();
    if (out.count != i) {
      std::memmove(pixels + out.count * step, pixels + i * step, step);
    }
    out.labels.push_back(slot->places[i].label);
    out.samples.push_back(static_cast<std::int64_t>(slot->places[i].draw.sample));
    out.places.push_back(i);
    ++out.count;
  }
  const bool last = tundish::steps_from(schedule, slot->next) == 0;
  if (!options.replay) bad.check_hope(out.count, last);
  if (auto now = bad.verdict(last)) verdict = std::move(now);
  out.pixels = slot->pixels.data();
  out.lent = slot->pixels.is_borrowed();
  if (out.lent) slot->pixels.part_with();
  meter.deliver(out.count);
}

Engine::Engine(std::shared_ptr<const Source> source, EngineOptions options)
    : shared_(std::make_shared<Shared>(std::move(source), std::move(options))) {}

Engine::~Engine() {
  if (::getpid() != shared_->process) {
    // In a forked child the threads do not exist and locks may be held for ever: touch nothing.
    new std::shared_ptr<Shared>(std::move(shared_));
    return;
  }
  if (!ended_) end();
}

std::vector<std::string> Engine::end() {
  Shared& shared = *shared_;
  std::vector<std::string> left;
  if (::getpid() != shared.process) return left;
  ended_ = true;
  close();
  std::unique_lock lock(shared.mutex);
  if (shared.idle.wait_for(lock, kJoinTimeout, [&] { return shared.running == 0; })) return left;
  for (const Doing& doing : shared.workers) {
    if (doing.stage != Doing::Stage::ended) {
      left.push_back(describe(doing, *shared.recipe.source, shared.recipe.image_field));
    }
  }
  return left;
}

void Engine::lend(std::span<std::byte> memory) {
  if (reinterpret_cast<std::uintptr_t>(memory.data()) % kHostAlignment != 0) {
    throw Error(ErrorCode::argument, {}, "memory that is lent must be aligned to 64 bytes");
  }
  if (!memory.empty()) shared_->lent->add(memory);
}

void Engine::start(std::uint64_t epoch, std::uint64_t position) {
  Shared& shared = *shared_;
  if (::getpid() != shared.process) {
    throw Error(ErrorCode::used_after_fork, {.file = shared.recipe.source->path()}, "");
  }
  // After the last batch of an epoch the first of the next is prefetched already.
  if (shared.started && position == 0 && epoch == shared.epoch + 1 &&
      steps_from(shared.position) == 0) {
    shared.epoch = epoch;
    shared.position = 0;
  }
  if (shared.started && shared.epoch == epoch && shared.position == position) return;
  shared.epoch = epoch;
  shared.position = position;
  shared.ring.restart([&shared, epoch, position, fresh = true](Slot& slot) mutable {
    if (std::exchange(fresh, false)) {
      shared.open_epoch = epoch;
      shared.open_position = position;
    }
    return shared.open_next(slot);
  });
  if (!shared.started) start_threads();
  shared.started = true;
}

// As many as can be had, at least one. Without any the next start() tries again.
void Engine::start_threads() {
  Shared& shared = *shared_;
  std::lock_guard lock(shared.mutex);
  shared.meter.start(now_ns());
  for (int i = 0; i < shared.options.threads; ++i) {
    const std::size_t before = shared.workers.size();
    try {
      Doing& doing = shared.workers.emplace_back();
      if (shared.trace) doing.track = &shared.trace->new_track(fmt::format("worker {}", i));
      std::thread([keep = shared_, &doing] { keep->work(doing); }).detach();
      ++shared.running;
    } catch (const std::exception& error) {
      if (shared.workers.size() > before) shared.workers.pop_back();
      if (i > 0) return;
      throw Error(ErrorCode::no_memory, {.file = shared.recipe.source->path()},
                  fmt::format("no thread could be started: {}", error.what()));
    }
  }
}

Engine::Next Engine::next(Batch& out, std::chrono::nanoseconds timeout) {
  // Kept until the return: a program that ends may free the loader while another thread waits here.
  const std::shared_ptr<Shared> keep = shared_;
  Shared& shared = *keep;
  if (::getpid() != shared.process) {
    throw Error(ErrorCode::used_after_fork, {.file = shared.recipe.source->path()}, "");
  }
  if (shared.verdict) throw *std::exchange(shared.verdict, {});
  if (steps_from(shared.position) == 0) return Next::end;
  std::shared_ptr<Slot> slot;
  const std::uint64_t begin_ns = now_ns();
  const Ring::Taken taken = shared.ring.take(slot, timeout);
  const std::uint64_t end_ns = now_ns();
  {
    std::lock_guard lock(shared.mutex);
    shared.meter.wait(end_ns - begin_ns, taken == Ring::Taken::batch);
    if (taken == Ring::Taken::end && shared.broken) std::rethrow_exception(shared.broken);
  }
  if (Track* track = shared.trainer.track) {
    track->add("batch.take", begin_ns, end_ns - begin_ns, shared.position);
  }
  if (taken == Ring::Taken::again) return Next::again;
  if (taken == Ring::Taken::end) {
    throw Error(ErrorCode::closed, {.file = shared.recipe.source->path()}, "");
  }
  const bool epoch_begins = shared.position == 0;
  shared.position = slot->next;
  shared.settle_size(*slot);
  shared.deliver(out, slot, epoch_begins);
  if (Track* track = shared.trainer.track) {
    track->add("batch.deliver", end_ns, now_ns() - end_ns, slot->first);
  }
  return Next::batch;
}

std::uint64_t Engine::steps_from(std::uint64_t position) const {
  return tundish::steps_from(shared_->schedule, position);
}

std::uint64_t Engine::positions() const { return shared_->schedule.count; }

const Recipe& Engine::recipe() const { return shared_->recipe; }

const EngineOptions& Engine::options() const { return shared_->options; }

std::string Engine::order() const { return describe(shared_->order); }

std::string Engine::fingerprint() const {
  return tundish::fingerprint(shared_->recipe, shared_->order);
}

EngineStats Engine::stats(EngineStats& window) const {
  const RingStats ring = shared_->ring.stats();
  std::lock_guard lock(shared_->mutex);
  EngineStats stats = shared_->meter.stats(shared_->workers, shared_->trainer, shared_->bad);
  stats.slots = ring.slots;
  stats.ready = ring.ready;
  window = shared_->meter.window();
  return stats;
}

void Engine::new_window() {
  Shared& shared = *shared_;
  std::lock_guard lock(shared.mutex);
  shared.meter.new_window(shared.meter.stats(shared.workers, shared.trainer, shared.bad));
}

std::vector<BadSample> Engine::bad_samples() const {
  std::lock_guard lock(shared_->mutex);
  return shared_->bad.first();
}

std::vector<std::string> Engine::hanging(std::chrono::nanoseconds limit) {
  std::lock_guard lock(shared_->mutex);
  return tundish::hanging(shared_->workers, *shared_->recipe.source, shared_->recipe.image_field,
                          now_ns(), static_cast<std::uint64_t>(limit.count()));
}

void Engine::write_trace() const {
  if (shared_->trace && ::getpid() == shared_->process) shared_->trace->write();
}

void Engine::close() { shared_->ring.close(); }

}  // namespace tundish
