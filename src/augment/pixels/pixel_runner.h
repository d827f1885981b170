// Runs the PixelSteps of a plan on an image in memory: interleaved RGB with contiguous rows. Merges
// steps that depend on a single level, or only on the counts of the levels, into
// one table.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "augment/pixels/blur/blur.h"
#include "augment/pixels/blur/jpeg_round_trip.h"
#include "augment/pixels/chains/chain_mix.h"
#include "augment/pixels/colors/sharpness.h"
#include "augment/pixels/levels/statistics.h"
#include "augment/pixels/tensors/tensors.h"
#include "augment/pixels/warp/warp.h"
#include "augment/plan.h"
#include "base/machine/cpu.h"

namespace tundish {

// Reuses its buffers across images. Not thread-safe.
class PixelRunner {
 public:
  explicit PixelRunner(Cpu cpu = tundish::cpu()) : cpu_(cpu) {}

  // Runs `steps`, which must be PixelSteps; a mix_begin needs its mix_end. Returns the size of the
  // result. May reallocate `rgb`.
  Size run(std::span<const PlanStep> steps, std::vector<std::uint8_t>& rgb, Size size);

  // Upper bound of the memory of one step, excluding its input image and its result.
  static std::uint64_t bytes(const PixelStep& step, Size size);

 private:
  void run_one(const PixelStep& step, std::vector<std::uint8_t>& rgb, Size& size);
  void merge(const PixelStep& step);
  void merge_statistics(const PixelStep& step, std::vector<std::uint8_t>& rgb);
  void apply_table(std::vector<std::uint8_t>& rgb);

  const Cpu cpu_;
  LevelTable table_;  // merged table of the pending steps
  bool has_table_ = false;
  Warp warp_;
  LevelCounts counts_;  // counts of the image before table_ is applied
  bool has_counts_ = false;
  Sharpness sharpness_;
  Blur blur_{cpu_};
  Tensors tensors_{cpu_};
  ChainMix mix_;
  JpegRoundTrip jpeg_;
};

// Reference implementation: one step and one pixel at a time. The first overload runs any step but
// PixelKind::mix. The second runs any list with complete mixes.
void run_reference(const PixelStep& step, std::vector<std::uint8_t>& rgb, Size& size);
void run_reference(std::span<const PixelStep> steps, std::vector<std::uint8_t>& rgb, Size& size);

}  // namespace tundish
