#include "sample/admission.h"

#include <fmt/format.h>

#include "augment/cpu/layout.h"
#include "core/machine/mapped_memory.h"

namespace tundish {
namespace {

void check(MemoryBudget::Answer answer, const std::string& what, std::uint64_t bytes,
           std::uint64_t there, const Recipe& recipe, const Draw& draw) {
  const Source& source = *recipe.source;
  switch (answer) {
    case MemoryBudget::Answer::granted:
      return;
    case MemoryBudget::Answer::closed:
      throw Error(ErrorCode::closed, {.file = source.path()}, "");
    case MemoryBudget::Answer::too_large:
      throw SampleError(ErrorCode::over_budget, source.where(draw.sample),
                        fmt::format("{} {} bytes; the budget has {} for it", what,
                                    with_commas(bytes), with_commas(there)));
  }
}

std::uint64_t bytes_of(const Sample& sample) {
  std::uint64_t sum = 0;
  for (const auto& field : sample.fields) sum += field.size();
  return sum;
}

// All images of a sample.
std::uint64_t bytes_in_batch(const Recipe& recipe, std::span<const View> views) {
  std::uint64_t sum = 0;
  std::size_t number = 0;
  for (const ViewRecipe& view : recipe.views) {
    for (std::uint32_t crop = 0; crop < view.crops; ++crop) {
      const Size size = views[number++].size();
      sum += image_bytes(size, view.stored, recipe.stored_channels(view));
      if (recipe.cpu_part == CpuPart::levels) sum += 2 * image_bytes(size, Dtype::uint8);
    }
  }
  return sum + recipe.memory.besides_pixels;
}

void wait_for(std::uint64_t bytes, const Recipe& recipe, const Draw& draw, Scratch& scratch) {
  MemoryBudget& budget = *recipe.memory.budget;
  check(scratch.charge.take(budget, bytes, scratch.age), "decoding it takes", bytes,
        budget.left_for_samples(), recipe, draw);
}

}  // namespace

void admit_read(const Recipe& recipe, const Draw& draw, Scratch& scratch) {
  if (!recipe.memory.budget) return;
  // A thread that waits holds no memory. Pages of the cache that an attempt left here would never
  // come back.
  scratch.cached.reset();
  scratch.charge.give();
  const std::uint64_t bytes = recipe.source->bytes(draw.sample);
  if (bytes > recipe.memory.uncharged_limit) wait_for(bytes, recipe, draw, scratch);
}

bool admit(const Recipe& recipe, const Draw& draw, std::span<const View> views,
           const ImageHeader& header, std::uint8_t orientation, Scratch& scratch) {
  const SampleMemory& memory = recipe.memory;
  if (!memory.budget) return true;
  const std::uint64_t coded = bytes_of(scratch.sample);
  const SampleBytes needed = sample_bytes(views, header, orientation, coded);
  const std::uint64_t charge = needed.total() > memory.uncharged_limit ? needed.total() : 0;

  // Fields besides the image stay in the batch as they are.
  const auto image = static_cast<std::size_t>(recipe.image_field);
  const std::uint64_t place = bytes_in_batch(recipe, views) +
                              (recipe.fields ? coded - scratch.sample.fields[image].size() : 0);
  const std::uint64_t batches = place * memory.places;
  const bool larger_batches = batches > memory.budget->reserved();
  const bool charged = scratch.charge.bytes() >= charge;
  if (!larger_batches && charged) {
    scratch.kept.grow_to(needed);
    return true;
  }

  // Holds no memory while it waits.
  const bool again = charge > 0 || scratch.cached;
  if (again) {
    scratch.sample = {};
    scratch.cached.reset();
    trim_freed_memory();
  }
  scratch.charge.give();
  if (larger_batches) {
    check(memory.budget->reserve(batches, scratch.age),
          fmt::format("batches of {} x {} pixels, {} images at a time, take",
                      views.front().size().width, views.front().size().height,
                      with_commas(memory.places)),
          batches, memory.budget->bytes(), recipe, draw);
  }
  if (charge > 0) wait_for(charge, recipe, draw, scratch);
  scratch.kept.grow_to(needed);
  return !again;
}

void release_large_buffers(const Recipe& recipe, std::unique_ptr<Scratch>& scratch) {
  scratch->cached.reset();  // its memory may be needed while this thread waits for work
  if (!recipe.memory.budget) return;
  const bool large = 2 * scratch->kept.total() > recipe.memory.uncharged_limit;  // vectors double
  if (!large && scratch->charge.bytes() == 0) return;
  Charge charge = std::move(scratch->charge);
  if (large) {
    auto fresh = std::make_unique<Scratch>();
    fresh->timer.take_over(scratch->timer);
    fresh->age = scratch->age;  // more samples of the same batch may follow
    scratch = std::move(fresh);
  }
  if (charge.bytes() > 0) trim_freed_memory();
}

}  // namespace tundish
