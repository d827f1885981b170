// What a sample takes, known when it is planned and before it is decoded.
#pragma once

#include <cstdint>
#include <span>

#include "augment/plan.h"
#include "codec/decode/decode.h"

namespace tundish {

// By the buffers of Scratch and its PlanRunner, which keep the largest of what was asked of each.
struct SampleBytes {
  std::uint64_t coded = 0, decoder = 0, upright = 0, shared = 0, between = 0, resample = 0;

  std::uint64_t total() const { return coded + decoder + upright + shared + between + resample; }
  void grow_to(const SampleBytes& other);
};

// Pure: of the plans of its images, the header, and the bytes that were read. `orientation` is 1
// for an image that is not turned; `whole`: all of the image is decoded, whatever the plan needs.
SampleBytes sample_bytes(std::span<const View> views, const ImageHeader& header,
                         std::uint8_t orientation, std::uint64_t coded, bool whole = false);

}  // namespace tundish
