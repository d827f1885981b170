#include "loader/engine/delivery/batch_delivery.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "loader/engine/batch_rows.h"
#include "loader/engine/engine.h"
#include "loader/engine/mixer.h"

namespace tundish {

bool BatchDelivery::is_omitted(const Batch& batch) const {
  return batch.count == 0 && options_.world_size == 1 && !options_.replay;
}

// Decodes every image whose size differs from the batch into a buffer of its own. Returns the size
// of all images, or {0, 0} if two good images differ, a place has an error, or no image is good.
Size BatchDelivery::decode_mismatched(Slot& slot) {
  const Size in_batch = slot.views.front().size;
  auto scratch = std::make_unique<Scratch>();  // age 0: served before all workers
  scratch->timer.status = &trainer_;
  Size size;
  for (std::size_t i = 0; i < slot.places.size(); ++i) {
    Place& place = slot.places[i];
    if (place.filled && place.size != in_batch) {
      place = only_row(place);
      place.has_own_buffer = true;
      cpu_maker_.make(slot, i, scratch);
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
// order, until two good images differ (assemble() reports an error) or all agree.
// Several images of a sample have fixed sizes and need no check.
void BatchDelivery::settle_size(Slot& slot) {
  if (recipe_.images() > 1 || options_.images_as == ImagesAs::list) return;
  SlotView& view = slot.views.front();
  const auto mismatched = [&](const Place& place) {
    return place.filled && place.size != view.size;
  };
  if (std::none_of(slot.places.begin(), slot.places.end(), mismatched)) return;
  const Size size = decode_mismatched(slot);
  if (size != Size{}) {
    if (view.size != size) cpu_maker_.take_memory(slot, 0, size);
    view.size = size;
    const std::size_t bytes = cpu_maker_.image_bytes(0, size);
    for (std::size_t i = 0; i < slot.places.size(); ++i) {
      const Place& place = slot.places[i];
      if (!place.filled || !place.has_own_buffer) continue;
      std::memcpy(row_of(slot, 0, i, bytes), view.own_buffers[i].data(), bytes);
    }
  }
  view.own_buffers.clear();
}

// Throws if a place has an error, or if two images differ in size. Returns the image size of the
// first view, or {0, 0} if there is no image.
Size BatchDelivery::check_places(const Slot& slot) const {
  const Place* first = nullptr;
  for (const Place& place : slot.own_places()) {
    if (place.error) std::rethrow_exception(place.error);
    if (!place.filled) continue;
    if (!first) first = &place;
    if (place.size != first->size && options_.images_as != ImagesAs::list) {
      throw Error(ErrorCode::unequal_sizes, {.file = recipe_.source->path()},
                  fmt::format("record {} gives {} x {} pixels, record {} in the same batch {} x {}",
                              first->draw.sample, first->size.width, first->size.height,
                              place.draw.sample, place.size.width, place.size.height));
    }
  }
  return first ? first->size : Size{};
}

// Returns the images of a view without gaps. `first_image`: index of its first image in a sample.
BatchView BatchDelivery::view_of(const Batch& batch, std::size_t number, Size size,
                                 std::size_t first_image) const {
  const ViewRecipe& view = recipe_.views[number];
  HostMemory& pixels = batch.slot->views[number].pixels;
  BatchView out{.pixels = pixels.data(),
                .lent = batch.count > 0 && pixels.is_borrowed(),
                .size = size,
                .dtype = view.dtype,
                .channels = channels_of(recipe_.mode),
                .has_16_bits = recipe_.has_16_bits(view),
                .crops = view.crops,
                .array = {},
                .targets = {}};
  if (out.lent) pixels.part_with();
  if (view.array_field >= 0) {
    out.array = recipe_.source->schema().fields[static_cast<std::size_t>(view.array_field)].array;
    return out;
  }
  if (!options_.for_gpu) return out;
  std::uint32_t image = 0;
  for (const std::size_t i : batch.places) {
    const Place& place = batch.slot->places[i];
    for (std::uint32_t crop = 0; crop < view.crops; ++crop, ++image) {
      if (place.coded) continue;
      const bool mirror = place.gpu_work[first_image + crop].mirror;
      out.targets.push_back(image | (mirror ? cuda::kMirrored : 0));
    }
  }
  for (const std::size_t i : batch.foreign_partners) {  // read but not delivered
    if (!batch.slot->places[i].coded) out.targets.push_back(0);
  }
  return out;
}

// Adds the sizes of the last place that was added.
void BatchDelivery::add_sizes(Batch& out, const Place& place, SlotView& view) const {
  if (options_.images_as == ImagesAs::list) {
    out.list.push_back({view.own_buffers[out.places.back()].data(), place.size});
  }
  if (options_.return_sizes) {
    out.sizes.push_back(place.unpadded.height);
    out.sizes.push_back(place.unpadded.width);
  }
}

void BatchDelivery::assemble(Batch& out, const std::shared_ptr<Slot>& slot) const {
  out.slot = slot;
  out.epoch = slot->epoch;
  out.next = slot->next;
  out.channels_first = options_.channels_first();
  out.is_list = options_.images_as == ImagesAs::list;
  out.has_sizes = options_.return_sizes;

  const Size first = check_places(*slot);
  std::vector<Size> sizes;
  std::vector<std::size_t> row_bytes;
  for (std::size_t v = 0; v < recipe_.views.size(); ++v) {
    const bool known = v == 0 && first != Size{};
    sizes.push_back(known ? first
                    : recipe_.views[v].array_field >= 0
                        ? kArraySize
                        : fixed_size(recipe_.views[v].transforms, slot->epoch));
    row_bytes.push_back(cpu_maker_.row_bytes(v, sizes.back()));
  }
  close_gaps(*slot, row_bytes);
  out.classes = recipe_.label_width;
  if (mixer_) {
    out.classes = mixer_->classes();
    if (!options_.for_gpu || recipe_.label_width > 0) out.soft_labels = mixer_->soft_labels(*slot);
  }
  for (std::size_t i = 0; i < slot->own(); ++i) {
    if (!slot->places[i].filled) continue;
    const std::vector<float>& vector = slot->places[i].label_vector;
    if (!mixer_) out.soft_labels.insert(out.soft_labels.end(), vector.begin(), vector.end());
    out.labels.push_back(slot->places[i].label);
    out.samples.push_back(static_cast<std::int64_t>(slot->places[i].draw.sample));
    out.places.push_back(i);
    add_sizes(out, slot->places[i], slot->views.front());
    ++out.count;
  }
  for (std::size_t i = slot->own(); i < slot->places.size(); ++i) {
    if (slot->places[i].filled) out.foreign_partners.push_back(i);
  }
  std::size_t first_image = 0;
  for (std::size_t v = 0; v < recipe_.views.size(); ++v) {
    out.views.push_back(view_of(out, v, sizes[v], first_image));
    first_image += recipe_.views[v].crops;
  }
}

}  // namespace tundish
