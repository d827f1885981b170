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
  // push(sink, needed) passes the rows of that window of the image to the sink. With leave_mirror,
  // a plan of one step is not mirrored from left to right, and the result says whether it should
  // be; otherwise the result is false.
  template <class Push>
  bool run(const View& view, const PixelTable& table, const Placement& place, bool leave_mirror,
           const Push& push) {
    store_.begin(table, place, view.erasures());
    ResizeStep step = view.first();
    const bool alone = view.is_one_resize();
    const bool mirror = alone && leave_mirror && std::exchange(step.mirror_x, false);
    const Size size{step.keep.width, step.keep.height};
    if (!alone) keep_.begin(image_, size);
    resample_.begin(step, view.image(), alone ? static_cast<RowSink&>(store_) : keep_);
    const Window needed = resample_.needed();
    if (needed.width > 0 && needed.height > 0) push(resample_, needed);
    resample_.finish();
    if (!alone) run_rest(size, std::span(view.steps()).subspan(1));
    return mirror;
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
