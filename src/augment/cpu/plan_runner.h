// Runs a whole plan on the CPU. The first step consumes rows as they are decoded. If it is the only
// step, its result is written directly to the batch.
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

// Returns an interleaved RGB image as one strip.
inline Strip whole_strip(const std::vector<std::uint8_t>& image, Size size) {
  return {image.data(), std::ptrdiff_t{3} * size.width, 0, 0, size.width, size.height};
}

// The part of a plan that the CPU runs.
enum class CpuPart : std::uint8_t {
  all,     // everything, including the elements of the batch
  levels,  // all steps, but not the table and erasing
  to_gpu,  // steps that a GPU supports are left to it
};

// Reuses its buffers across images. Not thread-safe.
class PlanRunner {
 public:
  // Prepares the first step. The caller then pushes the rows of needed() to sink(), unless needed()
  // is empty, and calls finish() to run the rest. The view and the table must stay alive until
  // finish() returns.
  void begin(const View& view, const PixelTable& table, const Placement& place, CpuPart part);
  Window needed() const { return has_alpha_ ? rgba_.needed() : resample_.needed(); }
  StripSink& sink() {
    if (has_alpha_) return rgba_.sink();
    return resample_;
  }

  // Returns the work left for a GPU; nothing with CpuPart::all.
  GpuWork finish();

  // Image memory used between steps. The pointers stay the same for images that are no larger.
  std::array<const std::uint8_t*, 2> images() const { return {image_.data(), result_.data()}; }

 private:
  Size run_resize(const ResizeStep& step, Size size);
  void run_rest(Size size, std::span<const PlanStep> steps);
  void store_image(Size size);

  std::span<const PlanStep> steps_;  // the steps that run here
  Size size_;                        // size of the first step's result
  ResizeStep first_;
  bool computes_16_ = false;  // the first step resizes 16-bit levels
  bool deep_ = false;         // ImageMode::i16
  bool has_alpha_ = false;    // ImageMode::rgba: rgba_ runs everything
  RgbaRunner rgba_;
  GpuWork gpu_work_;
  Resample resample_;
  PixelRunner pixels_;
  KeptRows keep_;
  Store store_;
  std::vector<std::uint8_t> image_, result_;  // input and output of the current step
};

}  // namespace tundish
