// Batches that the CPU makes: a worker loads one sample at a time into the row of its place.
#pragma once

#include <cstdint>
#include <memory>

#include "augment/cpu/layout.h"
#include "core/host_memory.h"
#include "engine/engine_cache.h"
#include "engine/maker.h"
#include "sample/recipe.h"
#include "sample/sample.h"
#include "state/loader_options.h"

namespace tundish {

class CpuMaker : public Maker {
 public:
  // All arguments must outlive the maker. `lent`: memory of the caller that batches may be made in.
  CpuMaker(const Recipe& recipe, const LoaderOptions& options, const Order& order,
           const CacheSetup& cache, std::shared_ptr<LentMemory> lent)
      : recipe_(recipe), options_(options), order_(order), cache_(cache), lent_(std::move(lent)) {}

  void make(Slot& slot, std::size_t place, std::unique_ptr<Scratch>& scratch) override;

  // The same, into the memory that `placer` gives.
  void make_at(const Placer& placer, Slot& slot, std::size_t place,
               std::unique_ptr<Scratch>& scratch);

  // Memory for the images of the slot that the CPU makes, and what goes with them to a GPU.
  void take_memory(Slot& slot, Size size);

  std::size_t image_bytes(Size size) const {
    return tundish::image_bytes(size, recipe_.table.dtype);
  }
  Placement placement(std::byte* base, Size size) const {
    return tundish::placement(base, size, recipe_.table.dtype,
                              options_.channels_first() && !options_.for_gpu);
  }

  // After the pixels: the label and the fields of the draw.
  void finish_place(Place& place, const Scratch& scratch) const;

 private:
  Placement place_in(Slot& slot, std::size_t number, Size size);
  void load(const Placer& placer, Slot& slot, std::size_t number,
            std::unique_ptr<Scratch>& scratch);
  bool load_draw(const Placer& placer, Slot& slot, std::size_t number, Scratch& scratch);

  const Recipe& recipe_;
  const LoaderOptions& options_;
  const Order& order_;
  const CacheSetup& cache_;
  const std::shared_ptr<LentMemory> lent_;  // second owners: the slots
};

// The label of a sample: given with the options, or the source's.
std::int64_t label_of(const LoaderOptions& options, const Source& source, std::uint64_t sample);

}  // namespace tundish
