// Makes batches on the CPU: a worker loads one sample at a time into the row of its place.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "augment/cpu/layout.h"
#include "base/host_memory.h"
#include "loader/engine/engine_cache.h"
#include "loader/engine/maker.h"
#include "loader/sample/recipe.h"
#include "loader/sample/sample.h"
#include "loader/state/loader_options.h"

namespace tundish {

class Mixer;

class CpuMaker : public Maker {
 public:
  // All arguments must outlive the maker. `lent`: the caller's memory in which batches may be made.
  CpuMaker(const Recipe& recipe, const LoaderOptions& options, const Order& order,
           const CacheSetup& cache, std::shared_ptr<LentMemory> lent)
      : recipe_(recipe), options_(options), order_(order), cache_(cache), lent_(std::move(lent)) {}

  // Enables mixing. `mixer` must outlive the maker.
  void use_mixer(const Mixer* mixer) { mixer_ = mixer; }

  void make(Slot& slot, std::size_t place, std::unique_ptr<Scratch>& scratch) override;

  // Allocates memory for the images of a view that the CPU makes, and for the data that accompanies
  // them to a GPU.
  void take_memory(Slot& slot, std::size_t view, Size size);

  std::size_t image_bytes(std::size_t view, Size size) const {
    if (recipe_.views[view].array_field >= 0) return recipe_.views[view].array_bytes;
    return tundish::image_bytes(size, recipe_.views[view].stored,
                                recipe_.stored_channels(recipe_.views[view]));
  }
  std::size_t row_bytes(std::size_t view, Size size) const {
    return recipe_.views[view].crops * image_bytes(view, size);
  }
  Placement placement(std::byte* base, std::size_t view, Size size) const {
    // Both bytes of a 16-bit level are adjacent in any memory format.
    const ViewRecipe& of = recipe_.views[view];
    if (of.array_field >= 0) return {.base = base};
    const bool first = options_.channels_first() && !options_.for_gpu && !recipe_.has_16_bits(of);
    return tundish::placement(base, size, of.stored, first, recipe_.stored_channels(of));
  }

  // Returns the levels of an image that is mixed on the CPU.
  const std::uint8_t* levels_of(Slot& slot, std::size_t number) const {
    return reinterpret_cast<const std::uint8_t*>(levels_at(slot, number));
  }

  // Reads the label vector of a sample, if labels are vectors. Throws SampleError.
  void read_label(Place& place, const Scratch& scratch) const;

  // Sets the label and the fields of the draw, after the pixels.
  void finish_place(Place& place, const Scratch& scratch) const;

 private:
  bool load_draw(Slot& slot, std::size_t number, Scratch& scratch);
  Placement row_in_batch(Slot& slot, std::size_t number, std::size_t image, Size size);
  Placement row_of_levels(Slot& slot, std::size_t number, Size size);
  Placement row_in_own_buffer(Slot& slot, std::size_t number, Size size);
  std::byte* levels_at(Slot& slot, std::size_t number) const;
  bool mixes_on_cpu() const { return mixer_ && !options_.for_gpu; }

  const Recipe& recipe_;
  const LoaderOptions& options_;
  const Order& order_;
  const CacheSetup& cache_;
  const std::shared_ptr<LentMemory> lent_;  // shared with the slots
  const Mixer* mixer_ = nullptr;            // null: no mixing
};

// Maximum number of foreign partners of a slot (mixer.h): partners of the first images, or of the
// first and the last image.
inline std::uint32_t max_foreign_partners(const LoaderOptions& options) {
  return std::max<std::uint32_t>(2, options.order.repeats);
}

// Returns the label of a sample: from the options if given, otherwise from the source.
std::int64_t label_of(const LoaderOptions& options, const Source& source, std::uint64_t sample);

}  // namespace tundish
