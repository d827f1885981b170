// The way of a batch through the engine: opened, filled by the workers, taken by the trainer,
// checked and delivered.
#include "loader/engine/engine.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/clock.h"
#include "loader/engine/batch_rows.h"
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
    slot.places[i].apart = options.images_as == ImagesAs::list;
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
    if (taken != Next::batch || !shared_->is_left_out(out)) return taken;
  }
}

Engine::Next Engine::take(Batch& out, std::chrono::nanoseconds timeout) {
  // Held until return: at exit, a program may free the loader while another thread waits here.
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
  shared.settle_size(*slot);
  shared.deliver(out, slot, epoch_begins);
  if (track) {
    track->add("engine.deliver", end_ns, now_ns() - end_ns, slot->first);
  }
  shared.publish_when_due(end_ns);
  return Next::batch;
}

// Makes every image that was left out of the batch in memory apart. Returns the size of all images,
// or {0, 0} if two good images differ, a place has an error, or no image is good.
Size Engine::Shared::make_left_out(Slot& slot) {
  const Size in_batch = slot.views.front().size;
  auto scratch = std::make_unique<Scratch>();  // age 0: served before all workers
  scratch->timer.status = &trainer;
  Size size;
  for (std::size_t i = 0; i < slot.places.size(); ++i) {
    Place& place = slot.places[i];
    if (place.filled && place.size != in_batch) {
      place = only_row(place);
      place.apart = true;
      cpu_maker.make(slot, i, scratch);
    }
    if (place.error) return {};
    if (!place.filled) continue;
    if (size == Size{}) size = place.size;
    if (place.size != size) return {};
  }
  return size;
}

// An image whose size differs from its batch was left out before decoding. The image may be bad,
// and so may the image that set the size. The trainer's thread therefore finishes these images in
// order, until two good images differ (deliver() reports an error) or all agree.
// Several images of a sample have fixed sizes and need no check.
void Engine::Shared::settle_size(Slot& slot) {
  if (recipe.images() > 1 || options.images_as == ImagesAs::list) return;
  SlotView& view = slot.views.front();
  const auto left_out = [&](const Place& place) { return place.filled && place.size != view.size; };
  if (std::none_of(slot.places.begin(), slot.places.end(), left_out)) return;
  const Size size = make_left_out(slot);
  if (size != Size{}) {
    if (view.size != size) cpu_maker.take_memory(slot, 0, size);
    view.size = size;
    const std::size_t bytes = cpu_maker.image_bytes(0, size);
    for (std::size_t i = 0; i < slot.places.size(); ++i) {
      const Place& place = slot.places[i];
      if (!place.filled || !place.apart) continue;
      std::memcpy(row_of(slot, 0, i, bytes), view.apart[i].data(), bytes);
    }
  }
  view.apart.clear();
}

// Throws if a place has an error, or if two images differ in size. Returns the image size of the
// first view, or {0, 0} if there is no image.
Size Engine::Shared::check_places(const Slot& slot) const {
  const Place* first = nullptr;
  for (const Place& place : slot.own_places()) {
    if (place.error) std::rethrow_exception(place.error);
    if (!place.filled) continue;
    if (!first) first = &place;
    if (place.size != first->size && options.images_as != ImagesAs::list) {
      throw Error(ErrorCode::unequal_sizes, {.file = recipe.source->path()},
                  fmt::format("record {} gives {} x {} pixels, record {} in the same batch {} x {}",
                              first->draw.sample, first->size.width, first->size.height,
                              place.draw.sample, place.size.width, place.size.height));
    }
  }
  return first ? first->size : Size{};
}

// Returns the images of a view without gaps. `first_image`: index of its first image in a sample.
BatchView Engine::Shared::deliver_view(const Batch& batch, std::size_t number, Size size,
                                       std::size_t first_image) const {
  const ViewRecipe& view = recipe.views[number];
  HostMemory& pixels = batch.slot->views[number].pixels;
  BatchView out{.pixels = pixels.data(),
                .lent = batch.count > 0 && pixels.is_borrowed(),
                .size = size,
                .dtype = view.dtype,
                .channels = channels_of(recipe.mode),
                .has_16_bits = recipe.has_16_bits(view),
                .crops = view.crops,
                .array = {},
                .targets = {}};
  if (out.lent) pixels.part_with();
  if (view.array_field >= 0) {
    out.array = recipe.source->schema().fields[static_cast<std::size_t>(view.array_field)].array;
    return out;
  }
  if (!options.for_gpu) return out;
  std::uint32_t image = 0;
  for (const std::size_t i : batch.places) {
    const Place& place = batch.slot->places[i];
    for (std::uint32_t crop = 0; crop < view.crops; ++crop, ++image) {
      if (place.coded) continue;
      const bool mirror = place.left[first_image + crop].mirror;
      out.targets.push_back(image | (mirror ? cuda::kMirrored : 0));
    }
  }
  for (const std::size_t i : batch.guests) {  // read but not delivered
    if (!batch.slot->places[i].coded) out.targets.push_back(0);
  }
  return out;
}

// Adds the sizes of the last place that was added.
void Engine::Shared::add_sizes(Batch& out, const Place& place, SlotView& view) const {
  if (options.images_as == ImagesAs::list) {
    out.list.push_back({view.apart[out.places.back()].data(), place.size});
  }
  if (options.return_sizes) {
    out.sizes.push_back(place.unpadded.height);
    out.sizes.push_back(place.unpadded.width);
  }
}

// Checks the batch, then closes the gaps that skipped samples left.
void Engine::Shared::deliver(Batch& out, const std::shared_ptr<Slot>& slot, bool epoch_begins) {
  out = {};
  out.slot = slot;
  out.epoch = slot->epoch;
  out.next = slot->next;
  out.channels_first = options.channels_first();
  out.is_list = options.images_as == ImagesAs::list;
  out.has_sizes = options.return_sizes;

  std::lock_guard lock(mutex);
  bad.enter(*slot, epoch_begins);
  const Size first = check_places(*slot);
  std::vector<Size> sizes;
  std::vector<std::size_t> row_bytes;
  for (std::size_t v = 0; v < recipe.views.size(); ++v) {
    const bool known = v == 0 && first != Size{};
    sizes.push_back(known ? first
                    : recipe.views[v].array_field >= 0
                        ? kArraySize
                        : fixed_size(recipe.views[v].transforms, slot->epoch));
    row_bytes.push_back(cpu_maker.row_bytes(v, sizes.back()));
  }
  close_gaps(*slot, row_bytes);
  out.classes = recipe.label_width;
  if (mixer) {
    out.classes = mixer->classes();
    if (!options.for_gpu || recipe.label_width > 0) out.soft_labels = mixer->soft_labels(*slot);
  }
  for (std::size_t i = 0; i < slot->own(); ++i) {
    if (!slot->places[i].filled) continue;
    const std::vector<float>& vector = slot->places[i].label_vector;
    if (!mixer) out.soft_labels.insert(out.soft_labels.end(), vector.begin(), vector.end());
    out.labels.push_back(slot->places[i].label);
    out.samples.push_back(static_cast<std::int64_t>(slot->places[i].draw.sample));
    out.places.push_back(i);
    add_sizes(out, slot->places[i], slot->views.front());
    ++out.count;
  }
  for (std::size_t i = slot->own(); i < slot->places.size(); ++i) {
    if (slot->places[i].filled) out.guests.push_back(i);
  }
  std::size_t first_image = 0;
  for (std::size_t v = 0; v < recipe.views.size(); ++v) {
    out.views.push_back(deliver_view(out, v, sizes[v], first_image));
    first_image += recipe.views[v].crops;
  }
  const bool last = tundish::steps_from(schedule, slot->next) == 0;
  if (!options.replay) bad.check_any_good(out.count, last);
  if (auto now = bad.verdict(last)) verdict = std::move(now);
  if (!is_left_out(out)) meter.deliver(out.count);
}

void Engine::enter_zeros(std::uint64_t sample, std::uint64_t epoch, std::uint64_t position,
                         const SampleError& error, bool wanted) {
  Shared& shared = *shared_;
  std::lock_guard lock(shared.mutex);
  shared.bad.enter_zeros({.sample = sample,
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
  if (auto now = shared.bad.verdict(last)) shared.verdict = std::move(now);
}

}  // namespace tundish
