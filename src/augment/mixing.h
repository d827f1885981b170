// How a loader's transforms mix the images of a batch: MixUp, CutMix, a random choice of them, or
// timm's Mixup, at the end of the list.
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
  bool is_drawn_for_each() const;                // not once for all images of a batch
  std::optional<std::uint32_t> classes() const;  // empty: as many as the data have
  double label_smoothing() const;

  // Of image `number` of the global batch that begins at this position of an epoch.
  Mix draw(std::uint64_t seed, std::uint64_t epoch, std::uint64_t start, std::uint64_t number,
           Size size) const;

 private:
  Transforms transforms_;  // the last one of them mixes
};

// Whether it is MixUp, CutMix or TimmMixup, or holds one of them.
bool mixes_images(const Transform& transform);

// Throws Error(argument) when a transform mixes images and is not at the end, alone or in a
// RandomChoice or RandomApply of such.
void check_mixing(const Transforms& transforms);

// Empty when the transforms mix nothing.
std::optional<Mixing> mixing_of(const Transforms& transforms);

}  // namespace tundish
