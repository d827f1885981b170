// Turns a complete slot into a batch: gives all images one size, throws the errors of samples,
// closes the gaps that skipped samples leave, and collects labels and sizes. Trainer's thread only.
#pragma once

#include <cstddef>
#include <memory>

#include "loader/engine/cpu_maker.h"
#include "loader/engine/slot.h"
#include "loader/monitor/worker_status.h"
#include "loader/sample/recipe.h"
#include "loader/state/loader_options.h"

namespace tundish {

class Mixer;
struct Batch;
struct BatchView;

class BatchDelivery {
 public:
  // All arguments must outlive the delivery. `trainer`: counts what the trainer's thread decodes.
  BatchDelivery(const Recipe& recipe, const LoaderOptions& options, CpuMaker& cpu_maker,
                WorkerStatus& trainer)
      : recipe_(recipe), options_(options), cpu_maker_(cpu_maker), trainer_(trainer) {}

  // Enables mixing. `mixer` must outlive the delivery.
  void use_mixer(const Mixer* mixer) { mixer_ = mixer; }

  // Decodes the images whose size differs from their batch, if they agree on another size. May add
  // bad samples to the places.
  void settle_size(Slot& slot);

  // Fills an empty batch from a slot whose size is settled. Throws if a place has an error, or if
  // two images differ in size.
  void assemble(Batch& out, const std::shared_ptr<Slot>& slot) const;

  // Whether all samples of the batch were bad and skipped: the mean loss of no image would be NaN.
  // With several ranks, the others wait for this rank's step. A replay needs this exact batch.
  bool is_omitted(const Batch& batch) const;

 private:
  Size decode_mismatched(Slot& slot);
  Size check_places(const Slot& slot) const;
  BatchView view_of(const Batch& batch, std::size_t number, Size size,
                    std::size_t first_image) const;
  void add_sizes(Batch& out, const Place& place, SlotView& view) const;

  const Recipe& recipe_;
  const LoaderOptions& options_;
  CpuMaker& cpu_maker_;
  WorkerStatus& trainer_;
  const Mixer* mixer_ = nullptr;  // null: no mixing
};

}  // namespace tundish
