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
#include "augment/cpu/store.h"
#include "augment/pixel_table.h"
#include "augment/pixels/pixel_runner.h"
#include "augment/plan.h"

namespace tundish {

// All of an image of interleaved RGB.
inline Strip whole_strip(const std::vector<std::uint8_t>& image, Size size) {
  return {image.data(), std::ptrdiff_t{3} * size.width, 0, 0, size.width, size.height};
}

// Keeps its buffers from image to image. One thread.
class PlanRunner {
 public:
  // push(sink, needed) passes the rows of that window of the image to the sink. Without for_gpu
  // nothing is left to do.
  template <class Push>
  LeftToGpu run(const View& view, const PixelTable& table, const Placement& place, bool for_gpu,
                const Push& push) {
    store_.begin(table, place, for_gpu ? std::span<const Erasure>{} : view.erasures());
    std::span<const PlanStep> steps = view.steps();
    LeftToGpu left;
    if (for_gpu) {
      steps = steps.first(steps.size() - steps_for_gpu(steps));
      left = view.left_after(steps.size());
    }
    ResizeStep step = view.first();
    const bool alone = steps.size() == 1;
    left.mirror = alone && for_gpu && left.steps.empty() && std::exchange(step.mirror_x, false);
    const Size size{step.keep.width, step.keep.height};
    if (!alone) keep_.begin(image_, size);
    resample_.begin(step, view.image(), alone ? static_cast<RowSink&>(store_) : keep_);
    const Window needed = resample_.needed();
    if (needed.width > 0 && needed.height > 0) push(resample_, needed);
    resample_.finish();
    if (!alone) run_rest(size, steps.subspan(1));
    return left;
  }

  // The memory of images between steps: the same ones for every image that is no larger.
  std::array<const std::uint8_t*, 2> images() const { return {image_.data(), result_.data()}; }

 private:
  void run_rest(Size size, std::span<const PlanStep> steps);
  void store_image(Size size);

  Resample resample_;
  PixelRunner pixels_;
  KeptRows keep_;
  Store store_;
  std::vector<std::uint8_t> image_, result_;  // of the step before, and of the one at work
};

}  // namespace tundish
