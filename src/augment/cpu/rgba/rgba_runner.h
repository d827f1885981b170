// Runs a plan of ImageMode::rgba on the CPU. Colors and alpha are two separate images. The alpha
// image has three equal channels, so every three-channel step serves both images. Where Pillow
// interpolates, colors are multiplied by their alpha before the step and divided by it afterwards.
#pragma once

#include <cstdint>
#include <vector>

#include "augment/cpu/kept_rows.h"
#include "augment/cpu/resample.h"
#include "augment/cpu/store.h"
#include "augment/pixel_table.h"
#include "augment/pixels/pixel_runner.h"
#include "augment/plan.h"

namespace tundish {

// The window of a decoded image that a plan needs: colors, and alpha as gray pixels.
class RgbaWindow : public StripSink {
 public:
  void begin(const Window& window);
  void push(const Strip& strip) override;

  Window window;
  std::vector<std::uint8_t> rgb, alpha;
};

// Reuses its buffers across images. Not thread-safe.
class RgbaRunner {
 public:
  // Same contract as PlanRunner with CpuPart::all. `place` has four channels. The table includes a
  // table for alpha.
  void begin(const View& view, const PixelTable& table, const Placement& place);
  Window needed() const { return image_.window; }
  StripSink& sink() { return image_; }
  void finish();

  // Upper bound of the memory of a plan's steps, excluding Resample.
  static std::uint64_t bytes(const View& view);

 private:
  void run(const ResizeStep& step, const Window& from, Size input);
  void resize(std::vector<std::uint8_t>& image, const ResizeStep& step, const Window& from,
              Size input);
  Size run(const PixelStep& step, Size size);
  void store(Size size);

  const View* view_ = nullptr;
  const PixelTable* table_ = nullptr;
  Placement place_;
  bool premultiplied_ = false;  // the colors are currently multiplied by their alpha
  RgbaWindow image_;            // the decoded window, later the result of the previous step
  std::vector<std::uint8_t> result_;
  Resample resample_;
  PixelRunner pixels_;
  KeptRows keep_;
  Store store_;
};

}  // namespace tundish
