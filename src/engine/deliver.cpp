// The trainer's side of the engine: a batch whose places are all done is checked and handed over.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "engine/batch_rows.h"
#include "engine/engine_shared.h"

namespace tundish {

// An image of another size than its batch was left out before it was decoded. It may be bad, and
// so may be the image that set the size. So the trainer's thread now finishes what was left out,
// in order, until two good images are known to differ (deliver() reports that) or all agree.
void Engine::Shared::settle_size(Slot& slot) {
  const auto left_out = [&](const Place& place) { return place.filled && place.size != slot.size; };
  if (std::none_of(slot.places.begin(), slot.places.end(), left_out)) return;
  auto scratch = std::make_unique<Scratch>();  // of age 0: before all workers
  scratch->timer.status = &trainer;
  std::vector<std::vector<std::byte>> apart(slot.places.size());  // pixels outside the slot
  Size size;
  for (std::size_t i = 0; i < slot.places.size(); ++i) {
    Place& place = slot.places[i];
    if (left_out(place)) {
      place = only_row(place);
      const Placer placer = [&](Size planned) {
        place.size = planned;
        apart[i].resize(cpu_maker.image_bytes(planned));
        return cpu_maker.placement(apart[i].data(), planned);
      };
      cpu_maker.make_at(placer, slot, i, scratch);
    }
    if (place.error) return;
    if (!place.filled) continue;
    if (size == Size{}) size = place.size;
    if (place.size != size) return;
  }
  if (slot.size != size) cpu_maker.take_memory(slot, size);
  slot.size = size;
  for (std::size_t i = 0; i < slot.places.size(); ++i) {
    if (!slot.places[i].filled || apart[i].empty()) continue;
    std::memcpy(row_of(slot, i, apart[i].size()), apart[i].data(), apart[i].size());
  }
}

// Checks, then closes the gaps that skipped samples left.
void Engine::Shared::deliver(Batch& out, const std::shared_ptr<Slot>& slot, bool epoch_begins) {
  out = {};
  out.slot = slot;
  out.epoch = slot->epoch;
  out.next = slot->next;
  out.dtype = recipe.table.dtype;
  out.channels_first = options.channels_first();

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
  close_gaps(*slot, cpu_maker.image_bytes(out.size));
  for (std::size_t i = 0; i < slot->places.size(); ++i) {
    if (!slot->places[i].filled) continue;
    out.labels.push_back(slot->places[i].label);
    out.samples.push_back(static_cast<std::int64_t>(slot->places[i].draw.sample));
    out.places.push_back(i);
    if (options.for_gpu && !slot->places[i].coded) {
      out.targets.push_back(out.count | (slot->places[i].left.mirror ? cuda::kMirrored : 0));
    }
    ++out.count;
  }
  const bool last = tundish::steps_from(schedule, slot->next) == 0;
  if (!options.replay) bad.check_any_good(out.count, last);
  if (auto now = bad.verdict(last)) verdict = std::move(now);
  out.pixels = slot->pixels.data();
  out.lent = out.count > 0 && slot->pixels.is_borrowed();
  if (out.lent) slot->pixels.part_with();
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
