// MixUp and CutMix in the engine: selects the partners of a batch, and mixes on the CPU. A foreign
// partner belongs to another rank and is loaded in a place after the slot's own places. An image
// whose partner is bad and skipped is not mixed.
#pragma once

#include <cstdint>
#include <vector>

#include "augment/mixing.h"
#include "data/order/schedule.h"
#include "loader/engine/cpu_maker.h"
#include "loader/engine/slot.h"

namespace tundish {

class Mixer {
 public:
  // All arguments must outlive the mixer. `classes`: number of classes of the labels.
  Mixer(const Mixing& mixing, const Recipe& recipe, const LoaderOptions& options,
        const Schedule& schedule, std::uint32_t classes);

  // Adds foreign partners and the mix of each image to a slot whose places are set. Fast.
  void open(Slot& slot) const;

  // Reports that a place is done, and mixes the images that waited only for it. Any worker.
  void done(Slot& slot, std::size_t number, const CpuMaker& maker, MixRows& rows) const;

  std::uint32_t classes() const { return classes_; }

  // Label values of an image's own class, and of all other classes.
  struct LabelValues {
    float on, off;
  };
  LabelValues label_values() const;

  // Returns labels (N, classes) of the filled places, in order.
  std::vector<float> soft_labels(const Slot& slot) const;

 private:
  std::size_t place_of(Slot& slot, std::uint64_t position) const;
  void mix(Slot& slot, std::size_t number, const CpuMaker& maker, MixRows& rows) const;

  const Mixing mixing_;
  const Recipe& recipe_;
  const LoaderOptions& options_;
  const Schedule& schedule_;
  const std::uint32_t classes_;
  const PixelTable table_;  // float32
};

}  // namespace tundish
