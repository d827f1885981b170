// The way of a batch through the engine: opened, filled by the workers, taken by the trainer,
// delivered (delivery/batch_delivery.h).
#include "loader/engine/engine.h"

#include <unistd.h>

#include "base/clock.h"
#include "loader/engine/engine_shared.h"

namespace tundish {

bool Engine::Shared::open_next(Slot& slot) {
  if (tundish::steps_from(schedule, open_position) == 0) {
    ++open_epoch;
    open_position = 0;
    if (tundish::steps_from(schedule, 0) == 0) return false;  // less than one global batch
  }
  const Step step = step_at(schedule, open_position);
  slot.epoch = open_epoch;
  slot.first = step.first;
  slot.start = open_position;
  slot.next = step.next;
  slot.places.resize(step.size);
  for (std::size_t i = 0; i < step.size; ++i) {
    slot.places[i].position = step.first + i;
    slot.places[i].has_own_buffer = options.images_as == ImagesAs::list;
  }
  slot.views.resize(recipe.views.size());
  if (mixer) mixer->open(slot);
  slot.single_task = decode_on_gpu;
  open_position = step.next;
  return true;
}

void Engine::Shared::work(WorkerStatus& status, std::size_t number) {
  clockid_t clock = 0;
  if (::pthread_getcpuclockid(::pthread_self(), &clock) == 0) status.cpu_clock = clock;
  try {
    auto scratch = std::make_unique<Scratch>();
    scratch->timer.status = &status;
    while (auto task = ring.claim(number)) {
      Slot& slot = *task->slot;
      scratch->age = task->ticket;
      Maker& maker = slot.single_task ? static_cast<Maker&>(*gpu_maker) : cpu_maker;
      maker.make(slot, task->place, scratch);
      status.activity = WorkerStatus::Activity::waiting;
      ring.done(std::move(*task));
    }
  } catch (...) {  // out of memory while claiming a task: next() rethrows
    {
      std::lock_guard lock(mutex);
      broken = std::current_exception();
    }
    ring.close();
  }
  std::lock_guard lock(mutex);
  status.activity = WorkerStatus::Activity::ended;
  --running;
  idle.notify_all();
}

// --- the trainer's thread ------------------------------------------------------------------------

Engine::Next Engine::next(Batch& out, std::chrono::nanoseconds timeout) {
  while (true) {
    const Next taken = take(out, timeout);
    if (taken != Next::batch || !shared_->delivery.is_omitted(out)) return taken;
  }
}

Engine::Next Engine::take(Batch& out, std::chrono::nanoseconds timeout) {
  // Held until return: at exit, a program may free the loader while another thread waits here.
  const std::shared_ptr<Shared> keep = shared_;
  Shared& shared = *keep;
  if (::getpid() != shared.process) {
    throw Error(ErrorCode::used_after_fork, {.file = shared.recipe.source->path()}, "");
  }
  if (shared.pending_error) throw *std::exchange(shared.pending_error, {});
  if (steps_from(shared.position) == 0) return Next::end;
  std::shared_ptr<Slot> slot;
  const std::uint64_t begin_ns = now_ns();
  const Ring::Taken taken = shared.ring.take(slot, timeout);
  const std::uint64_t end_ns = now_ns();
  {
    std::lock_guard lock(shared.mutex);
    shared.meter.wait(end_ns - begin_ns, taken == Ring::Taken::batch);
    if (taken == Ring::Taken::end && shared.broken) std::rethrow_exception(shared.broken);
    if (shared.tuner && taken != Ring::Taken::end) {
      tune(begin_ns, end_ns, slot.get());
    }
  }
  Track* const track = shared.trainer.track;
  if (track && (taken == Ring::Taken::batch || timeout > std::chrono::nanoseconds(0))) {
    track->add("engine.take", begin_ns, end_ns - begin_ns, shared.position);
  }
  if (taken == Ring::Taken::again) {
    shared.publish_when_due(end_ns);
    return Next::again;
  }
  if (taken == Ring::Taken::end) {
    throw Error(ErrorCode::closed, {.file = shared.recipe.source->path()}, "");
  }
  const bool epoch_begins = shared.position == 0;
  shared.position = slot->next;
  shared.deliver(out, slot, epoch_begins);
  if (track) {
    track->add("engine.deliver", end_ns, now_ns() - end_ns, slot->first);
  }
  shared.publish_when_due(end_ns);
  return Next::batch;
}

// Counts the bad samples of the batch, assembles it and applies max_bad.
void Engine::Shared::deliver(Batch& out, const std::shared_ptr<Slot>& slot, bool epoch_begins) {
  delivery.settle_size(*slot);
  out = {};  // before the lock: may release a slot
  std::lock_guard lock(mutex);
  bad.record(*slot, epoch_begins);
  delivery.assemble(out, slot);
  const bool last = tundish::steps_from(schedule, slot->next) == 0;
  if (!options.replay) bad.check_any_good(out.count, last);
  if (auto now = bad.take_error(last)) pending_error = std::move(now);
  if (!delivery.is_omitted(out)) meter.deliver(out.count);
}

void Engine::record_zeros(std::uint64_t sample, std::uint64_t epoch, std::uint64_t position,
                          const SampleError& error, bool wanted) {
  Shared& shared = *shared_;
  std::lock_guard lock(shared.mutex);
  shared.bad.record_zeros({.sample = sample,
                           .epoch = epoch,
                           .position = position,
                           .code = error.code(),
                           .where = error.where(),
                           .reason = error.reason(),
                           .text = error.what(),
                           .replaced_by = {}},
                          wanted);
  if (!wanted) return;
  if (shared.options.on_error == OnError::fail) throw error;
  const bool last = shared.epoch == epoch && steps_from(shared.position) == 0;
  shared.bad.check_any_good(0, last);
  if (auto now = shared.bad.take_error(last)) shared.pending_error = std::move(now);
}

}  // namespace tundish
