#include "augment/cpu/plan_runner.h"

#include <utility>

#include "augment/pixels/levels/resize_16.h"

namespace tundish {

void PlanRunner::begin(const View& view, const PixelTable& table, const Placement& place,
                       CpuPart part) {
  has_alpha_ = view.mode() == ImageMode::rgba;
  if (has_alpha_) return rgba_.begin(view, table, place);
  const bool for_gpu = part == CpuPart::to_gpu;
  const bool erases = part == CpuPart::all;
  store_.begin(table, place, erases ? view.erasures() : std::span<const Erasure>{});
  steps_ = view.steps();
  gpu_work_ = {};
  if (for_gpu) steps_ = steps_.first(steps_.size() - steps_for_gpu(steps_));
  if (!erases) gpu_work_ = view.gpu_work_after(steps_.size());
  ResizeStep step = view.first();
  const bool alone = steps_.size() == 1;
  gpu_work_.mirror =
      alone && for_gpu && gpu_work_.steps.empty() && std::exchange(step.mirror_x, false);
  size_ = {step.keep.width, step.keep.height};
  deep_ = view.mode() == ImageMode::i16;
  computes_16_ = deep_ && computes_levels(step);
  if (computes_16_) {
    first_ = step;
    keep_.begin(image_, {step.crop.width, step.crop.height});
    return resample_.begin(crop_of(step), view.image(), keep_);
  }
  if (!alone) keep_.begin(image_, size_);
  resample_.begin(step, view.image(), alone ? static_cast<RowSink&>(store_) : keep_);
}

GpuWork PlanRunner::finish() {
  if (has_alpha_) {
    rgba_.finish();
    return {};
  }
  resample_.finish();
  if (computes_16_) {
    resize_16(result_, image_, first_);
    image_.swap(result_);
    if (steps_.size() == 1) store_image(size_);
  }
  if (steps_.size() > 1) run_rest(size_, steps_.subspan(1));
  return std::move(gpu_work_);
}

// Runs all steps but the first on the image of that size in image_, then stores the result.
void PlanRunner::run_rest(Size size, std::span<const PlanStep> steps) {
  while (!steps.empty()) {
    if (const std::size_t count = leading_pixel_steps(steps); count > 0) {
      size = pixels_.run(steps.first(count), image_, size);
      steps = steps.subspan(count);
      continue;
    }
    const ResizeStep& step = std::get<ResizeStep>(steps.front());
    if (deep_ && computes_levels(step)) {
      size = run_resize(step, size);
      steps = steps.subspan(1);
      continue;
    }
    const bool last = steps.size() == 1;
    const Size kept{step.keep.width, step.keep.height};
    if (!last) keep_.begin(result_, kept);
    resample_.begin(step, size, last ? static_cast<RowSink&>(store_) : keep_);
    const Window needed = resample_.needed();
    if (needed.width > 0 && needed.height > 0) resample_.push(whole_strip(image_, size));
    resample_.finish();
    if (last) return;
    image_.swap(result_);
    size = kept;
    steps = steps.subspan(1);
  }
  store_image(size);
}

// Resizes the image of 16-bit levels in image_.
Size PlanRunner::run_resize(const ResizeStep& step, Size size) {
  keep_.begin(result_, {step.crop.width, step.crop.height});
  resample_.begin(crop_of(step), size, keep_);
  const Window needed = resample_.needed();
  if (needed.width > 0 && needed.height > 0) resample_.push(whole_strip(image_, size));
  resample_.finish();
  resize_16(image_, result_, step);
  return {step.keep.width, step.keep.height};
}

void PlanRunner::store_image(Size size) {
  const Strip image = whole_strip(image_, size);
  for (int y = 0; y < size.height; ++y) {
    store_.row(y, image.pixels + y * image.stride, size.width, false);
  }
}

}  // namespace tundish
