// What MixUp or CutMix does to one image of a batch, as data: drawn before anything is made.
#pragma once

#include <cstdint>

#include "base/image.h"

namespace tundish {

struct Mix {
  enum class Kind : std::uint8_t { none, blend, cut };
  Kind kind = Kind::none;
  double share = 1.0;  // of the image itself, also in its label; its partner has the rest
  Window box{};        // Kind::cut: what is taken from the partner
  bool operator==(const Mix&) const = default;
};

// An element of a blend, or of a soft label. Each product is rounded, then the sum, as torch does.
inline float blend(float own, float partner, float share, float rest) {
  return partner * rest + own * share;
}

// With which image of a global batch another one is mixed.
enum class Partners : std::uint8_t {
  roll,   // the one before it, the first with the last; so many before it, where samples repeat
  pairs,  // 0 with 1, 2 with 3, ...; a last one that is left over with none
};

// The place of its partner in a batch of `count` images; its own: it has none. `repeats`: images in
// a row that are of the same sample, so that Partners::roll leads to another one.
constexpr std::uint64_t partner_of(std::uint64_t number, std::uint64_t count, Partners partners,
                                   std::uint64_t repeats = 1) {
  if (partners == Partners::roll) return (number + count - repeats % count) % count;
  const std::uint64_t other = number ^ 1;
  return other < count ? other : number;
}

}  // namespace tundish
