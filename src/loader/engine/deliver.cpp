// The trainer's side of the engine: checks and delivers a batch whose places are all done.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "loader/engine/batch_rows.h"
#include "loader/engine/engine_shared.h"

namespace tundish {

// An image whose size differs from its batch was left out before decoding. The image may be bad,
// and so may the image that set the size. The trainer's thread therefore finishes these images in
// order, until two good images differ (deliver() reports an error) or all agree.
// Several images of a sample have fixed sizes and need no check.
void Engine::Shared::settle_size(Slot& slot) {
  if (recipe.images() > 1 || options.images_as == ImagesAs::list) return;
  SlotView& view = slot.views.front();
  const auto left_out = [&](const Place& place) { return place.filled && place.size != view.size; };
  if (std::none_of(slot.places.begin(), slot.places.end(), left_out)) return;
  auto scratch = std::make_unique<Scratch>();  // age 0: served before all workers
  scratch->timer.status = &trainer;
  std::vector<std::vector<std::byte>> apart(slot.places.size());  // pixels outside the slot
  Size size;
  for (std::size_t i = 0; i < slot.places.size(); ++i) {
    Place& place = slot.places[i];
    if (left_out(place)) {
      place = only_row(place);
      const Placer placer = [&](std::size_t, Size planned) {
        place.size = planned;
        apart[i].resize(cpu_maker.image_bytes(0, planned));
        return cpu_maker.placement(apart[i].data(), 0, planned);
      };
      cpu_maker.make_at(placer, slot, i, scratch);
    }
    if (place.error) return;
    if (!place.filled) continue;
    if (size == Size{}) size = place.size;
    if (place.size != size) return;
  }
  if (view.size != size) cpu_maker.take_memory(slot, 0, size);
  view.size = size;
  for (std::size_t i = 0; i < slot.places.size(); ++i) {
    if (!slot.places[i].filled || apart[i].empty()) continue;
    std::memcpy(row_of(slot, 0, i, apart[i].size()), apart[i].data(), apart[i].size());
  }
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
