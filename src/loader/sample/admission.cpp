#include "loader/sample/admission.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "augment/cpu/layout.h"
#include "base/machine/mapped_memory.h"

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

// Returns the bytes of all images of a sample in a batch.
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
  const char* const what = recipe.image_field < 0 ? "reading it takes" : "decoding it takes";
  check(scratch.charge.take(budget, bytes, scratch.age), what, bytes, budget.left_for_samples(),
        recipe, draw);
}

// Charges `needed` bytes until the sample is in its batch, and reserves `place` bytes per place of
// the batches. `batches` returns the name of the batches' memory for an error message.
bool admit_bytes(const Recipe& recipe, const Draw& draw, const SampleBytes& needed,
                 std::uint64_t place, const std::function<std::string()>& batches,
                 Scratch& scratch) {
  const SampleMemory& memory = recipe.memory;
  const std::uint64_t charge = needed.total() > memory.uncharged_limit ? needed.total() : 0;
  const std::uint64_t in_batches = place * memory.places;
  const bool larger_batches = in_batches > memory.budget->reserved();
  const bool charged = scratch.charge.bytes() >= charge;
  if (!larger_batches && charged) {
    scratch.kept.grow_to(needed);
    return true;
  }

  // A waiting thread holds no memory.
  const bool again = charge > 0 || scratch.cached;
  if (again) {
    scratch.sample = {};
    scratch.cached.reset();
    trim_freed_memory();
  }
  scratch.charge.give();
  if (larger_batches) {
    check(memory.budget->reserve(in_batches, scratch.age), batches(), in_batches,
          memory.budget->bytes(), recipe, draw);
  }
  if (charge > 0) wait_for(charge, recipe, draw, scratch);
  scratch.kept.grow_to(needed);
  return !again;
}

}  // namespace

void admit_read(const Recipe& recipe, const Draw& draw, Scratch& scratch) {
  if (!recipe.memory.budget) return;
  // A waiting thread holds no memory. Cache pages left by an earlier attempt would otherwise never
  // be released.
  scratch.cached.reset();
  scratch.charge.give();
  const std::uint64_t bytes = std::max(recipe.source->bytes(draw.sample), recipe.array_bytes());
  if (bytes > recipe.memory.uncharged_limit) wait_for(bytes, recipe, draw, scratch);
}

bool admit(const Recipe& recipe, const Draw& draw, std::span<const View> views,
           const ImageHeader& header, std::uint8_t orientation, Scratch& scratch) {
  const SampleMemory& memory = recipe.memory;
  if (!memory.budget) return true;
  const std::uint64_t coded = bytes_of(scratch.sample);
  // Other fields stay in the batch unchanged.
  const auto image = static_cast<std::size_t>(recipe.image_field);
  const std::uint64_t place = bytes_in_batch(recipe, views) +
                              (recipe.fields ? coded - scratch.sample.fields[image].size() : 0);
  const auto batches = [&] {
    const Size size = views.front().size();
    return fmt::format("batches of {} x {} pixels, {} images at a time, take", size.width,
                       size.height, with_commas(memory.places));
  };
  return admit_bytes(recipe, draw, sample_bytes(views, header, orientation, coded), place, batches,
                     scratch);
}

bool admit_arrays(const Recipe& recipe, const Draw& draw, Scratch& scratch) {
  const SampleMemory& memory = recipe.memory;
  if (!memory.budget) return true;
  const std::uint64_t bytes = bytes_of(scratch.sample);
  const auto batches = [&] {
    return fmt::format("batches of samples of {} bytes, {} samples at a time, take",
                       with_commas(bytes), with_commas(memory.places));
  };
  return admit_bytes(recipe, draw, {.coded = bytes}, bytes, batches, scratch);
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
