// Carries out the PixelSteps of a plan on an image in memory: interleaved RGB, each row directly
// after the one above. Steps that look at one level alone, or at how many pixels have each level,
// are merged into one table.
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

// Keeps its buffers from image to image. One thread.
class PixelRunner {
 public:
  explicit PixelRunner(Cpu cpu = tundish::cpu()) : cpu_(cpu) {}

  // All of them PixelSteps; with mix_begin comes its mix_end. Gives the size of the result; the
  // image may change its memory.
  Size run(std::span<const PlanStep> steps, std::vector<std::uint8_t>& rgb, Size size);

  // Memory that one step takes beside the image it reads and the one it makes, at most.
  static std::uint64_t bytes(const PixelStep& step, Size size);

 private:
  void run_one(const PixelStep& step, std::vector<std::uint8_t>& rgb, Size& size);
  void merge(const PixelStep& step);
  void merge_statistics(const PixelStep& step, std::vector<std::uint8_t>& rgb);
  void apply_table(std::vector<std::uint8_t>& rgb);

  const Cpu cpu_;
  LevelTable table_;  // of the steps that are not carried out yet
  bool has_table_ = false;
  Warp warp_;
  LevelCounts counts_;  // of the image, without that table
  bool has_counts_ = false;
  Sharpness sharpness_;
  Blur blur_{cpu_};
  Tensors tensors_{cpu_};
  ChainMix mix_;
  JpegRoundTrip jpeg_;
};

// The obviously right twin, one step and one pixel after the other. The first: of all but
// PixelKind::mix; the second: of any list in which mixes are complete.
void run_reference(const PixelStep& step, std::vector<std::uint8_t>& rgb, Size& size);
void run_reference(std::span<const PixelStep> steps, std::vector<std::uint8_t>& rgb, Size& size);

}  // namespace tundish
