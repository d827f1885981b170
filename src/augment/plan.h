// A plan: what will be done to the pixels of one draw, as data. Every random choice is made
// while planning, before a byte is decoded; carrying a plan out draws no numbers.
//
// A view is a few steps, nearly always one. A step cuts `crop` out of its input (what lies
// outside is padding), resizes the cut to `size`, keeps the window `keep` of the result, then
// mirrors it. A crop that follows a resize costs nothing: only the kept pixels are computed.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "augment/filter.h"
#include "core/image.h"

namespace tundish {

struct ResizeStep {
  Window crop;  // in the coordinates of the step's input
  PadMode pad_mode = PadMode::constant;
  std::array<std::uint8_t, 3> fill{};  // of PadMode::constant
  Size size;                           // of the whole resized crop
  Filter filter = Filter::bilinear;    // not used when size equals the crop's
  // The resize runs from right to left (from bottom to top): mirror, resize, mirror back. Not
  // the same as a plain resize, because Pillow rounds its weights from left to right.
  bool backwards_x = false;
  bool backwards_y = false;
  Window keep;  // inside size
  bool mirror_x = false;
  bool mirror_y = false;
  bool operator==(const ResizeStep&) const = default;
};

// Whether the step resizes at all.
bool resizes(const ResizeStep& step);

// The part of a line of n pixels that the places from .. to - 1 of the padded line are made of;
// {0, 0} when they are all padding.
struct Range {
  int from, length;
};
Range needed_range(int from, int to, int n, PadMode mode);

// A result may be so wide before a crop makes it smaller; 32-bit arithmetic holds it easily.
constexpr int kMaxPlannedSide = 1 << 26;

class View {
 public:
  // A view of an image as it is.
  explicit View(Size image);

  Size image() const { return image_; }  // size of the decoded image the view starts from
  Size size() const;                     // of the result so far
  const std::vector<ResizeStep>& steps() const { return steps_; }  // at least one

  // Each folds into the last step where that is exact, and otherwise opens a new one.
  void crop(const Window& window, PadMode mode = PadMode::constant,
            std::array<std::uint8_t, 3> fill = {});
  void resize(Size size, Filter filter);
  void mirror_x();
  void mirror_y();

  bool operator==(const View&) const = default;

 private:
  void open_step();

  Size image_;
  std::vector<ResizeStep> steps_;
};

}  // namespace tundish
