// The effect of MixUp or CutMix on one image of a batch, as data: drawn before any image is made.
#pragma once

#include <cstdint>

#include "base/image.h"

namespace tundish {

struct Mix {
  enum class Kind : std::uint8_t { none, blend, cut };
  Kind kind = Kind::none;
  double share = 1.0;  // weight of the image and its label; the partner has the rest
  Window box{};        // Kind::cut: the window taken from the partner
  bool operator==(const Mix&) const = default;
};

// Blends an element or a soft label. Each product is rounded, then the sum, as in torch.
inline float blend(float own, float partner, float share, float rest) {
  return partner * rest + own * share;
}

// Assignment of mixing partners within a global batch.
enum class Partners : std::uint8_t {
  roll,   // the previous image, cyclically; `repeats` images earlier if samples repeat
  pairs,  // 0 with 1, 2 with 3, ...; an odd last image has no partner
};

// Returns the place of the partner in a batch of `count` images, or `number` if there is none.
// `repeats`: consecutive images of the same sample, which Partners::roll skips.
constexpr std::uint64_t partner_of(std::uint64_t number, std::uint64_t count, Partners partners,
                                   std::uint64_t repeats = 1) {
  if (partners == Partners::roll) return (number + count - repeats % count) % count;
  const std::uint64_t other = number ^ 1;
  return other < count ? other : number;
}

}  // namespace tundish
