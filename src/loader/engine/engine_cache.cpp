#include "loader/engine/engine_cache.h"

#include <algorithm>

namespace tundish {
namespace {

// Returns whole pages; 0 if the size is unknown before the sample is read.
std::uint64_t cached_bytes(const Source& source, const Recipe& recipe, std::uint64_t sample,
                           CacheKind kind) {
  const std::uint64_t all = source.bytes(sample);
  if (recipe.image_field < 0) {
    const std::uint64_t arrays = recipe.array_bytes() + sizeof(float) * recipe.label_width;
    return pages_of(recipe.fields == kAllFields ? std::max(all, arrays) : arrays) * kPageBytes;
  }
  Extent image;
  const bool known = source.extent(sample, recipe.image_field, image);
  const std::uint64_t others = known && recipe.fields ? all - std::min(all, image.bytes) : 0;
  if (kind == CacheKind::encoded) {
    return pages_of(known ? image.bytes + others : all) * kPageBytes;
  }
  const SampleInfo info = source.info(sample);
  const std::uint64_t pixels = std::uint64_t{3} * info.width * info.height;
  return pixels == 0 ? 0 : pages_of(pixels + others) * kPageBytes;
}

// Sums the bytes of all samples that this rank reads during a run.
std::uint64_t cached_bytes_of_all(const Recipe& recipe, const Order& order,
                                  const Schedule& schedule, CacheKind kind) {
  std::uint64_t sum = 0;
  bool known = true;
  // A sample listed several times is cached once.
  std::vector<bool> counted(order.earlier_entries.empty() ? 0 : recipe.source->count());
  const auto add = [&](std::uint64_t sample) {
    if (!counted.empty()) {
      if (counted[static_cast<std::size_t>(sample)]) return;
      counted[static_cast<std::size_t>(sample)] = true;
    }
    const std::uint64_t bytes = cached_bytes(*recipe.source, recipe, sample, kind);
    known = known && bytes > 0;
    sum += bytes;
  };
  const bool is_list = order.sampling == Sampling::every || order.sampling == Sampling::listed;
  if (is_list && !order.shuffle && order.repeats == 1) {
    for (std::uint64_t start = 0; known && steps_from(schedule, start) > 0;) {  // fixed order
      const Step step = step_at(schedule, start);
      for (std::uint64_t at = step.first; at < step.first + step.size; ++at) {
        add(draw_at(order, 0, at).sample);
      }
      start = step.next;
    }
  } else if (order.samples.empty()) {
    for (std::uint64_t i = 0; known && i < order.count; ++i) add(i);
  } else {
    for (std::size_t i = 0; known && i < order.samples.size(); ++i) add(order.samples[i]);
  }
  return known ? sum : 0;
}

}  // namespace

CacheSetup make_cache(const LoaderOptions& options, Recipe& recipe, const Order& order,
                      const Schedule& schedule) {
  MemoryBudget* budget = recipe.memory.budget;
  if (!budget) {
    throw Error(ErrorCode::argument, {.file = recipe.source->path()}, "a cache needs a budget");
  }
  CacheSetup out;
  out.room = budget->left_for_samples();
  CacheKind kind = options.cache;
  const bool no_pixels = (options.for_gpu && options.decode == DecodeOn::gpu) ||  // not needed
                         begins_with_draft(recipe.views.front().transforms);      // sizes may vary
  if (recipe.image_field < 0) {
    kind = CacheKind::encoded;  // arrays are copied unchanged, so nothing is left to decode
  } else if (kind == CacheKind::automatic && no_pixels) {
    kind = CacheKind::encoded;
  } else if (kind == CacheKind::automatic) {
    out.needed = cached_bytes_of_all(recipe, order, schedule, CacheKind::decoded);
    kind = out.needed > 0 && out.needed <= out.room ? CacheKind::decoded : CacheKind::encoded;
  }
  out.needed = cached_bytes_of_all(recipe, order, schedule, kind);
  out.next_use = std::make_unique<NextUse>(order, schedule);
  out.samples = std::make_unique<SampleCache>(kind, *budget, out.room);
  recipe.cache = out.samples.get();
  return out;
}

}  // namespace tundish
