// Weighted sums of images, held in the block's floats.
#pragma once

#include "augment/pixels/chains/chain_ops.h"
#include "cuda/augment/image_block.cuh"

namespace tundish::cuda {

// Updates one level's running sum and kept value; returns the new level.
struct ChainLevel {
  PixelOp op;
  float weight;

  __device__ std::uint8_t run(std::uint8_t level, float& sum, std::uint8_t& kept) const {
    if (op == PixelOp::mix_end) return mixed_level(sum);
    const float part = mixed_part(level, weight);
    if (op == PixelOp::mix_begin) {
      sum = part;
      kept = level;
    } else {
      sum += part;
    }
    return kept;
  }
};

// Processes four levels at once; requires a pixel count that is a multiple of four.
__device__ inline void chain_words(const BlockImage& image, const ChainLevel& one) {
  const int words = image.pixels() / 4 * 3;
  auto* const rgb = reinterpret_cast<uchar4*>(image.rgb);
  auto* const kept = reinterpret_cast<uchar4*>(image.kept);
  auto* const sums = reinterpret_cast<float4*>(image.floats);
  const bool begins = one.op == PixelOp::mix_begin, ends = one.op == PixelOp::mix_end;
#pragma unroll 2
  for (int i = first_index(); i < words; i += kBlockThreads) {
    float4 sum = begins ? float4{} : sums[i];
    uchar4 levels = ends ? uchar4{} : rgb[i], before = begins || ends ? uchar4{} : kept[i];
    levels.x = one.run(levels.x, sum.x, before.x);
    levels.y = one.run(levels.y, sum.y, before.y);
    levels.z = one.run(levels.z, sum.z, before.z);
    levels.w = one.run(levels.w, sum.w, before.w);
    if (!ends) sums[i] = sum;
    (begins ? kept : rgb)[i] = begins ? before : levels;
  }
}

// Runs mix_begin, mix_add or mix_end.
TUNDISH_STEP void mix_chains(BlockImage& image, const PixelStep& step) {
  apply_table(image);
  const ChainLevel one{step.op, static_cast<float>(step.value[0])};
  if (image.pixels() % 4 == 0) {
    chain_words(image, one);
  } else {
    for (int i = first_index(); i < 3 * image.pixels(); i += kBlockThreads) {
      image.rgb[i] = one.run(image.rgb[i], image.floats[i], image.kept[i]);
    }
  }
  __syncthreads();
}

}  // namespace tundish::cuda
