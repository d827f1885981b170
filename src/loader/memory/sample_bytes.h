// Memory needed by a sample, known after planning and before decoding.
#pragma once

#include <cstdint>
#include <span>

#include "augment/plan.h"
#include "codec/decode/decode.h"

namespace tundish {

// Bytes per buffer of Scratch and its PlanRunner. Each buffer keeps the largest size requested.
struct SampleBytes {
  std::uint64_t coded = 0, decoder = 0, upright = 0, shared = 0, between = 0, resample = 0;

  std::uint64_t total() const { return coded + decoder + upright + shared + between + resample; }
  void grow_to(const SampleBytes& other);
};

// Pure: depends on the plans, the header, and the number of bytes read. `orientation` is 1 for an
// image that is not rotated; `whole`: the whole image is decoded, whatever the plan needs.
SampleBytes sample_bytes(std::span<const View> views, const ImageHeader& header,
                         std::uint8_t orientation, std::uint64_t coded, bool whole = false);

}  // namespace tundish
