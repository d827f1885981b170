// MixUp and CutMix in the engine: which images of a batch are mixed with which, and on the CPU the
// mixing itself. A partner that another rank has is loaded here too: a guest, in a place of the
// slot after the others. An image whose partner is bad and skipped is not mixed.
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
  // All arguments must outlive it. `classes`: of the labels.
  Mixer(const Mixing& mixing, const Recipe& recipe, const LoaderOptions& options,
        const Schedule& schedule, std::uint32_t classes);

  // The places of the slot's step are there: adds guests, and what becomes of each image. Quick.
  void open(Slot& slot) const;

  // A place is done: mixes the images that waited for it alone. Any worker.
  void done(Slot& slot, std::size_t number, const CpuMaker& maker, MixRows& rows) const;

  std::uint32_t classes() const { return classes_; }

  // The values of a label that is an image's own, and of all others.
  struct LabelValues {
    float on, off;
  };
  LabelValues label_values() const;

  // (N, classes) of the filled places, in order.
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
