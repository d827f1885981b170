// Mixing of the images of a batch by the transforms of a loader: MixUp, CutMix, a random choice
// between them, or timm's Mixup. Mixing transforms are at the end of the list.
#pragma once

#include <cstdint>
#include <optional>

#include "augment/mix.h"
#include "augment/transforms.h"

namespace tundish {

class Mixing {
 public:
  explicit Mixing(const Transforms& transforms) : transforms_(transforms) {}

  Partners partners() const;
  bool is_drawn_for_each() const;                // as opposed to once per batch
  std::optional<std::uint32_t> classes() const;  // empty: take the number from the data
  double label_smoothing() const;

  // Draws for image `number` of the global batch that begins at position `start` of an epoch.
  Mix draw(std::uint64_t seed, std::uint64_t epoch, std::uint64_t start, std::uint64_t number,
           Size size) const;

 private:
  Transforms transforms_;  // the last transform mixes
};

// Whether `transform` is MixUp, CutMix or TimmMixup, or contains one of these.
bool mixes_images(const Transform& transform);

// Throws Error(argument) if a mixing transform is not at the end of the list, either alone or in a
// RandomChoice or RandomApply of mixing transforms.
void check_mixing(const Transforms& transforms);

// Returns nullopt if the transforms mix nothing.
std::optional<Mixing> mixing_of(const Transforms& transforms);

}  // namespace tundish
