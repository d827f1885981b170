#include "loader/engine/cpu_maker.h"

#include <algorithm>

#include "cuda/upload_tail.h"
#include "data/source/label_vector.h"
#include "loader/engine/batch_rows.h"
#include "loader/engine/mixer.h"
#include "loader/sample/admission.h"

namespace tundish {
namespace {

constexpr std::uint32_t kMaxSubstitutes = 16;

}  // namespace

std::int64_t label_of(const LoaderOptions& options, const Source& source, std::uint64_t sample) {
  return options.labels.empty() ? source.info(sample).label
                                : options.labels[static_cast<std::size_t>(sample)];
}

// Loads the draw of a place. A bad sample leaves the place empty, is replaced by another draw, or
// fails the batch.
void CpuMaker::make(Slot& slot, std::size_t number, std::unique_ptr<Scratch>& scratch) {
  Place& place = slot.places[number];
  try {
    place.draw = draw_at(order_, slot.epoch, place.position);
    for (std::uint32_t attempt = 0; !load_draw(slot, number, *scratch); ++attempt) {
      if (options_.on_error == OnError::skip) {
        leave_empty(slot, number);
        break;
      }
      if (attempt == kMaxSubstitutes) {
        throw Error(ErrorCode::too_many_bad, recipe_.source->where(place.draw.sample),
                    place.bad.back().text);
      }
      place.draw = substitute_draw(order_, slot.epoch, place.position, attempt);
      release_large_buffers(recipe_, scratch);  // another sample may be waiting for this memory
    }
  } catch (...) {
    place.error = std::current_exception();
  }
  release_large_buffers(recipe_, scratch);
  if (mixes_on_cpu() && !place.has_own_buffer) mixer_->done(slot, number, *this, scratch->mix);
}

// Loads one draw into its row. Returns false if the sample is bad and may be replaced.
bool CpuMaker::load_draw(Slot& slot, std::size_t number, Scratch& scratch) {
  Place& place = slot.places[number];
  if (cache_.samples) {
    scratch.next_use =
        cache_.next_use->from({slot.epoch, place.position + 1, slot.start}, place.draw.sample);
  }
  try {
    const Planned planned = read_and_plan(recipe_, slot.epoch, place.draw, DecodedBy::cpu, scratch);
    scratch.rows.resize(recipe_.images());
    for (std::size_t image = 0; image < scratch.rows.size(); ++image) {
      const Size size = planned.size(image);
      scratch.rows[image] = place.has_own_buffer ? row_in_own_buffer(slot, number, size)
                            : mixes_on_cpu()     ? row_of_levels(slot, number, size)
                                                 : row_in_batch(slot, number, image, size);
    }
    write_rows(scratch.rows, planned, recipe_, place.draw, scratch);
    if (options_.all_fields) check_array_fields(recipe_, place.draw.sample, scratch.sample);
    read_label(place, scratch);
  } catch (const SampleError& error) {
    scratch.timer.tally_failed();
    scratch.timer.trace_bad(place.draw);
    place.bad.push_back({.sample = place.draw.sample,
                         .epoch = slot.epoch,
                         .position = place.position,
                         .code = error.code(),
                         .where = error.where(),
                         .reason = error.reason(),
                         .text = error.what(),
                         .replaced_by = {}});
    if (options_.on_error == OnError::fail) throw;
    return false;
  }
  place.filled = true;
  place.gpu_work = scratch.gpu_work;
  scratch.timer.tally();
  scratch.timer.status->cache_hits.add(scratch.hit ? 1 : 0);
  scratch.timer.status->cache_misses.add(cache_.samples && !scratch.hit ? 1 : 0);
  finish_place(place, scratch);
  return true;
}

// Returns the row of the levels of an image that will be mixed.
Placement CpuMaker::row_of_levels(Slot& slot, std::size_t number, Size size) {
  slot.places[number].size = size;
  SlotView& view = slot.views.front();
  {
    std::lock_guard lock(slot.mutex);
    if (view.size == Size{}) {
      take_memory(slot, 0, size);
      view.levels.reserve(tundish::image_bytes(size, Dtype::uint8) * slot.places.size(),
                          options_.allocator);
      view.size = size;
    }
  }
  return tundish::placement(levels_at(slot, number), size, Dtype::uint8, false);
}

// Returns separate memory of the place, reused if already allocated.
Placement CpuMaker::row_in_own_buffer(Slot& slot, std::size_t number, Size size) {
  slot.places[number].size = size;
  SlotView& view = slot.views.front();
  HostMemory* memory = nullptr;
  {
    std::lock_guard lock(slot.mutex);
    if (view.own_buffers.size() < slot.places.size()) view.own_buffers.resize(slot.places.size());
    memory = &view.own_buffers[number];
  }
  memory->reserve(image_bytes(0, size));
  return placement(memory->data(), 0, size);
}

std::byte* CpuMaker::levels_at(Slot& slot, std::size_t number) const {
  SlotView& view = slot.views.front();
  return view.levels.data() + number * tundish::image_bytes(view.size, Dtype::uint8);
}

// Returns the row of an image in the batch. The first planned image sets the size of the batch. An
// image of another size is left out here and examined again when the batch is delivered.
Placement CpuMaker::row_in_batch(Slot& slot, std::size_t number, std::size_t image, Size size) {
  std::size_t view = 0, crop = image;
  while (crop >= recipe_.views[view].crops) crop -= recipe_.views[view++].crops;
  if (image == 0) slot.places[number].size = size;
  {
    std::lock_guard lock(slot.mutex);
    if (slot.views[view].size == Size{}) {
      take_memory(slot, view, size);
      slot.views[view].size = size;
    }
    take_row(slot, number);
    if (slot.views[view].size != size) return {};
  }
  std::byte* const row = row_of(slot, view, number, row_bytes(view, size));
  return placement(row + crop * image_bytes(view, size), view, size);
}

void CpuMaker::take_memory(Slot& slot, std::size_t view, Size size) {
  // Foreign partners have levels (for a GPU, or in separate memory) but no row of elements.
  const std::size_t places = options_.for_gpu ? slot.places.size() : slot.own();
  const auto rows = static_cast<std::size_t>(
      std::count_if(slot.places.begin(), slot.places.begin() + static_cast<std::ptrdiff_t>(places),
                    [](const Place& place) { return !place.coded; }));
  const std::size_t images = rows * recipe_.views[view].crops;
  const std::size_t tail = options_.for_gpu ? cuda::upload_tail_bytes(images) : 0;
  const std::size_t bytes = image_bytes(view, size) * images + tail;
  HostMemory& pixels = slot.views[view].pixels;
  if (!pixels.borrow(bytes, lent_)) pixels.reserve(bytes, options_.allocator);
}

void CpuMaker::read_label(Place& place, const Scratch& scratch) const {
  const std::size_t width = recipe_.label_width;
  place.label_vector.resize(width);
  if (width == 0) return;
  if (recipe_.label_field < 0) {
    const auto first =
        options_.label_vectors.begin() + static_cast<std::ptrdiff_t>(place.draw.sample * width);
    std::copy_n(first, width, place.label_vector.begin());
    return;
  }
  const auto field = static_cast<std::size_t>(recipe_.label_field);
  if (auto fault = read_label_vector(place.label_vector, scratch.sample.fields.at(field))) {
    throw SampleError(*fault, recipe_.source->where_in(place.draw.sample, recipe_.label_field));
  }
}

void CpuMaker::finish_place(Place& place, const Scratch& scratch) const {
  place.label = label_of(options_, *recipe_.source, place.draw.sample);
  place.unpadded = scratch.unpadded;
  if (!options_.all_fields) return;
  // Takes all fields except the image, which the batch holds as pixels; coded bytes may be larger.
  // Also excludes arrays that are tensors of the batch.
  const Sample& sample = scratch.sample;
  place.fields.resize(sample.fields.size());
  for (std::size_t f = 0; f < sample.fields.size(); ++f) {
    const auto is_tensor = [f](const ViewRecipe& view) {
      return view.array_field == static_cast<int>(f);
    };
    if (static_cast<int>(f) == recipe_.image_field ||
        std::any_of(recipe_.views.begin(), recipe_.views.end(), is_tensor)) {
      place.fields[f].clear();
    } else {
      place.fields[f] = sample.fields[f];
    }
  }
}

}  // namespace tundish
