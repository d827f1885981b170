// Carries out a whole plan on the CPU. The first step takes the image's rows as they are decoded;
// when it is the only one, they go straight into the batch.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "augment/cpu/kept_rows.h"
#include "augment/cpu/resample.h"
#include "augment/cpu/rgba/rgba_runner.h"
#include "augment/cpu/store.h"
#include "augment/pixel_table.h"
#include "augment/pixels/pixel_runner.h"
#include "augment/plan.h"

namespace tundish {

// All of an image of interleaved RGB.
inline Strip whole_strip(const std::vector<std::uint8_t>& image, Size size) {
  return {image.data(), std::ptrdiff_t{3} * size.width, 0, 0, size.width, size.height};
}

// How far the CPU carries a plan out.
enum class CpuPart : std::uint8_t {
  all,     // to elements of the batch
  levels,  // all steps; the table and erasing are left
  to_gpu,  // what a GPU can do is left to it
};

// Keeps its buffers from image to image. One thread.
class PlanRunner {
 public:
  // Prepares for the first step. The rows of needed() of the image are then pushed to sink(),
  // unless that is empty; finish() carries out the rest. The view and the table must live until
  // then.
  void begin(const View& view, const PixelTable& table, const Placement& place, CpuPart part);
  Window needed() const { return has_alpha_ ? rgba_.needed() : resample_.needed(); }
  StripSink& sink() {
    if (has_alpha_) return rgba_.sink();
    return resample_;
  }

  // Gives what is left to do; nothing with CpuPart::all.
  LeftToGpu finish();

  // The memory of images between steps: the same ones for every image that is no larger.
  std::array<const std::uint8_t*, 2> images() const { return {image_.data(), result_.data()}; }

 private:
  Size run_resize(const ResizeStep& step, Size size);
  void run_rest(Size size, std::span<const PlanStep> steps);
  void store_image(Size size);

  std::span<const PlanStep> steps_;  // that are carried out here
  Size size_;                        // of the first step's result
  ResizeStep first_;
  bool computes_16_ = false;  // the first step does, with 16-bit levels
  bool deep_ = false;         // of ImageMode::i16
  bool has_alpha_ = false;    // of ImageMode::rgba: rgba_ does it all
  RgbaRunner rgba_;
  LeftToGpu left_;
  Resample resample_;
  PixelRunner pixels_;
  KeptRows keep_;
  Store store_;
  std::vector<std::uint8_t> image_, result_;  // of the step before, and of the one at work
};

}  // namespace tundish
