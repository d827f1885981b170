// The inner loops of blurs, once per instruction set. Buffers of lines are a multiple of kBlurBlock
// elements long, so that no loop has a tail.
#pragma once

#include <cstddef>
#include <cstdint>

#include "augment/pixels/blur/blur_ops.h"
#include "base/machine/cpu.h"

namespace tundish {

constexpr int kBlurBlock = 64;  // elements
constexpr std::size_t blur_stride(std::size_t elements) {
  return (elements + kBlurBlock - 1) / kBlurBlock * kBlurBlock;
}

// Loops of the Gaussian. `count` is a multiple of kBlurBlock except in widen and narrow.
struct GaussianRows {
  void (*widen)(float* to, const std::uint8_t* from, int count);
  void (*narrow)(std::uint8_t* to, const std::uint32_t* from, int count);
  // Blurs along a line whose neighbors are `step` elements apart (3 in RGB). Reads
  // line[-step * reach] to line[count + step * reach - 1].
  void (*across)(float* to, const float* line, int count, const float* weight, int reach, int step);
  // Blurs the lines -reach to +reach around a line and rounds; `around` points to the middle one.
  void (*down)(std::uint32_t* to, const float* const* around, int count, const float* weight,
               int reach);
  // Like down(), without rounding.
  void (*down_sums)(float* to, const float* const* around, int count, const float* weight,
                    int reach);
};
extern const GaussianRows kGaussianRowsBaseline, kGaussianRowsAvx2, kGaussianRowsAvx512;
const GaussianRows& gaussian_rows(Cpu cpu);

// Loops of the box.
struct BoxRows {
  void (*widen)(std::uint16_t* to, const std::uint8_t* from, int count);
  void (*narrow)(std::uint8_t* to, const std::uint16_t* from, int count);
  // Blurs along a line of interleaved RGB; reads line[-3 * (radius + 1)] and onward.
  void (*across)(std::uint16_t* to, const std::uint16_t* line, int count, const Box& box);
  // Blurs down a strip of kBoxStrip columns; reads rows -radius - 1 to rows + radius.
  void (*down)(std::uint16_t* to, const std::uint16_t* strip, int rows, const Box& box);
};
constexpr int kBoxStrip = 32;  // columns; two strips of an image stay in the first-level cache
extern const BoxRows kBoxRowsBaseline, kBoxRowsAvx2, kBoxRowsAvx512;

}  // namespace tundish
