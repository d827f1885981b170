#include "loader/engine/engine_memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "augment/cpu/layout.h"
#include "base/machine/mapped_memory.h"
#include "base/machine/memory_limit.h"
#include "data/source/read_memory.h"
#include "loader/memory/memory_plan.h"

namespace tundish {
namespace {

// Overhead of mapped memory: rounding of the length, and the length itself.
constexpr std::uint64_t kMappedBytes = 4096 + kHostAlignment;
constexpr std::uint64_t kReplayedBytes = 4096;        // overhead of a replayed image: its plan
constexpr std::uint64_t kMaxIfNotKnown = 4ull << 30;  // limit of a replayed batch

// Returns the bytes of a sample's images in a batch, in the epoch with the largest images; 0 if
// their size is not fixed.
std::uint64_t fixed_image_bytes(const Recipe& recipe) {
  if (recipe.image_field < 0) return recipe.array_bytes();
  std::uint64_t sum = 0;
  for (const ViewRecipe& view : recipe.views) {
    const Size size = largest_size(view.transforms);
    sum += view.crops * image_bytes(size, view.stored, recipe.stored_channels(view));
    // Levels for mixing on the CPU; every image may have a foreign partner.
    if (recipe.cpu_part == CpuPart::levels) sum += 2 * image_bytes(size, Dtype::uint8);
  }
  return sum;
}

// Without a fixed size, uses the largest stored image if the source knows it without reading, as a
// pack does.
std::uint64_t most_image_bytes(const Recipe& recipe) {
  if (const std::uint64_t fixed = fixed_image_bytes(recipe); fixed > 0) return fixed;
  const Dtype dtype = recipe.views.front().stored;
  std::uint64_t most = 0;
  for (std::uint64_t i = 0; i < recipe.source->count(); ++i) {
    const SampleInfo info = recipe.source->info(i);
    const Size stored{static_cast<int>(info.width), static_cast<int>(info.height)};
    most = std::max<std::uint64_t>(
        most, image_bytes(stored, dtype, recipe.stored_channels(recipe.views.front())));
  }
  return most;
}

}  // namespace

std::uint64_t most_batches(const LoaderOptions& options) {
  const std::uint64_t in_ring = batches_at_once(options.prefetch);
  if (options.for_gpu) return in_ring + kBatchesAtGpu;
  return options.lends ? 2 * in_ring : in_ring;
}

void check_replay(const LoaderOptions& options, const Recipe& recipe, std::uint64_t count) {
  const std::uint64_t images = std::min<std::uint64_t>(options.batch_size, count);
  const std::uint64_t each = most_image_bytes(recipe) + kReplayedBytes;
  const std::uint64_t left = memory_left();
  const std::uint64_t most = left > 0 ? left / 2 : kMaxIfNotKnown;
  if (images <= most / each) return;
  throw Error(ErrorCode::wrong_state, {.file = recipe.source->path()},
              fmt::format("its batch_size is {}: a batch of {} images of {} bytes, and a replay "
                          "takes at most {}, half of the memory that is left; replay fewer images: "
                          "tundish view --state STATE --batch-size N",
                          with_commas(options.batch_size), with_commas(images), with_commas(each),
                          with_commas(most)));
}

std::unique_ptr<MemoryBudget> make_budget(LoaderOptions& options, Recipe& recipe,
                                          std::uint64_t count, std::uint64_t more_per_image) {
  std::uint64_t tables = 0;
  if (options.cache != CacheKind::none) {
    const std::uint64_t samples = recipe.source->count();
    tables = cache_table_bytes(samples, options.memory);
    if (!options.order.samples.empty() || options.order.sampling != Sampling::every) {
      const std::uint64_t entries = std::max<std::uint64_t>(samples, options.order.samples.size());
      tables += 3 * sizeof(std::uint64_t) * entries;  // NextUse
    }
  }
  const std::uint64_t threads = static_cast<std::uint64_t>(*options.threads) + 1;
  const Source& source = *recipe.source;
  keep_at_most(source, options.memory / 4);
  const MemoryNeeds needs{
      .budget = options.memory,
      .source = source.memory() + threads * memory_while_reading(source) + tables,
      .threads = threads,
      .batches = most_batches(options),
      .batch_size = std::min<std::uint64_t>(options.batch_size, count),
      .image_bytes = fixed_image_bytes(recipe) + more_per_image};
  const MemoryShares shares = share_memory(needs, recipe.source->path());
  auto budget = std::make_unique<MemoryBudget>(shares.shared);
  recipe.memory = {.budget = budget.get(),
                   .places = needs.batches * needs.batch_size,
                   .uncharged_limit = shares.per_thread / 2,
                   .besides_pixels = options.images_as == ImagesAs::list ? kMappedBytes : 0};
  budget->reserve(recipe.memory.places * needs.image_bytes, 0);
  if (options.allocator.take == kPlainMemory.take) options.allocator = kMappedMemory;
  keep_malloc_small();
  return budget;
}

}  // namespace tundish
