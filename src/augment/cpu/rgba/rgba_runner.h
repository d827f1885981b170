// Carries out a plan of ImageMode::rgba on the CPU. Colors are one image, and the alpha is another
// one of three equal channels, so that every step of three channels serves both. Where Pillow
// interpolates, colors are multiplied by their alpha before, and divided by it after.
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

// The window of a decoded image that a plan needs: its colors, and its alpha as grays.
class RgbaWindow : public StripSink {
 public:
  void begin(const Window& window);
  void push(const Strip& strip) override;

  Window window;
  std::vector<std::uint8_t> rgb, alpha;
};

// Keeps its buffers from image to image. One thread.
class RgbaRunner {
 public:
  // As of PlanRunner, with CpuPart::all. `place` has four channels, and the table has one for
  // alpha.
  void begin(const View& view, const PixelTable& table, const Placement& place);
  Window needed() const { return image_.window; }
  StripSink& sink() { return image_; }
  void finish();

  // Memory that the steps of a plan take, at most, besides that of Resample.
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
  bool premultiplied_ = false;  // the colors are multiplied by their alpha
  RgbaWindow image_;            // at first; then the result of the step before
  std::vector<std::uint8_t> result_;
  Resample resample_;
  PixelRunner pixels_;
  KeptRows keep_;
  Store store_;
};

}  // namespace tundish
