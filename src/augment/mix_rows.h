// Mixes an image of 8-bit levels with its partner on the CPU and stores the elements.
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

// Levels (H, W, C), and the windows to erase once they are elements.
struct MixImage {
  const std::uint8_t* levels = nullptr;
  std::span<const Erasure> erasures;
};

// Reuses its buffers. Not thread-safe.
class MixRows {
 public:
  // `table` must produce float32; `dtype` is the batch's. The partner's levels are not read with
  // Mix::Kind::none.
  void run(const MixImage& own, const MixImage& partner, const Mix& mix, Size size,
           const PixelTable& table, const Placement& place, Dtype dtype);

 private:
  void fill(std::vector<float>& row, const MixImage& image, int y, int width,
            const PixelTable& table);
  void store(const Placement& place, Dtype dtype, int y, int width) const;

  Store store_;
  std::vector<float> own_, partner_;  // one row each, interleaved channels
};

}  // namespace tundish
