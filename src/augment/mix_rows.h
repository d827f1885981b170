// Mixes an image of 8-bit levels with its partner, on the CPU, and stores the elements.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "augment/cpu/placement.h"
#include "augment/cpu/store.h"
#include "augment/erasure.h"
#include "augment/mix.h"
#include "augment/pixel_table.h"

namespace tundish {

// Levels (H, W, C), and what is erased of their elements.
struct MixImage {
  const std::uint8_t* levels = nullptr;
  std::span<const Erasure> erasures;
};

// Keeps its buffers. One thread.
class MixRows {
 public:
  // `table` gives float32, `dtype` is the batch's. The partner's levels are not read with
  // Mix::Kind::none.
  void run(const MixImage& own, const MixImage& partner, const Mix& mix, Size size,
           const PixelTable& table, const Placement& place, Dtype dtype);

 private:
  void fill(std::vector<float>& row, const MixImage& image, int y, int width,
            const PixelTable& table);
  void store(const Placement& place, Dtype dtype, int y, int width) const;

  Store store_;
  std::vector<float> own_, partner_;  // a row, the channels of a pixel side by side
};

}  // namespace tundish
