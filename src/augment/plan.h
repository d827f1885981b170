// A plan: what will be done to the pixels of one draw, as data. Every random choice is made
// while planning, before a byte is decoded; carrying a plan out draws no numbers.
//
// A view is an ordered list of steps. The first is a ResizeStep: often it is the only one, and the
// decoder's rows stream through it into the batch. A PixelStep changes an image in
// memory (augment/pixels/pixel_step.h); another ResizeStep may follow it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "augment/erasure.h"
#include "augment/filter.h"
#include "augment/image_mode.h"
#include "augment/left_to_gpu.h"
#include "augment/pixels/pixel_step.h"
#include "base/image.h"

namespace tundish {

// Cuts `crop` out of its input (what lies outside is padding), resizes the cut to `size`, keeps the
// window `keep` of the result, then mirrors it. A crop that follows a resize costs nothing: only
// the kept pixels are computed.
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
  // With ImageMode::rgba: the next step is the rest of the same resize, so that colors stay
  // multiplied by their alpha.
  bool resize_continues = false;
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

using PlanStep = std::variant<ResizeStep, PixelStep>;

// How many PixelSteps come before the first ResizeStep.
std::size_t leading_pixel_steps(std::span<const PlanStep> steps);

// What cuda/augment/pixel_steps.cu does: all but results of another size, and kernels of more than
// kMaxGaussianKernel pixels.
bool runs_on_gpu(const PixelStep& step);
// The same from mix_begin to mix_end: elastic needs the memory that holds the sums. No transform
// has it there.
bool runs_on_gpu_in_mix(const PixelStep& step);

// How many of the last steps a GPU can carry out. A mix is left to it whole, or not at all.
std::size_t steps_for_gpu(std::span<const PlanStep> steps);

class View {
 public:
  // A view of an image as it is. `can_reduce`: it is a JPEG that can be decoded at a half, a
  // quarter or an eighth of its size.
  explicit View(Size image, ImageMode mode = ImageMode::rgb, bool can_reduce = false);

  Size image() const { return image_; }         // size of the decoded image the view starts from
  Size size() const { return size_; }           // of the result so far
  int reduction() const { return reduction_; }  // the image is decoded at 1 / this of its size
  // The same without what pad_to() added, unless a crop or a resize followed.
  Size unpadded() const { return unpadded_ == Size{} ? size_ : unpadded_; }
  const std::vector<PlanStep>& steps() const { return steps_; }  // at least one
  const ResizeStep& first() const { return *std::get_if<ResizeStep>(&steps_.front()); }
  ImageMode mode() const { return mode_; }
  bool is_one_resize() const { return steps_.size() == 1; }

  // Pillow's Image.draft("RGB", size): the image is decoded at 1/2, 1/4 or 1/8 of its size if that
  // is no smaller than `size`. Only before all else; does nothing where the image cannot be
  // reduced.
  void draft(Size size);

  // Each folds into the last step where that is exact, and otherwise opens a new one.
  void crop(const Window& window, PadMode mode = PadMode::constant,
            std::array<std::uint8_t, 3> fill = {});
  void resize(Size size, Filter filter);
  // The image at the top left of a larger one.
  void pad_to(Size size, std::array<std::uint8_t, 3> fill);
  void mirror_x();
  void mirror_y();

  void add(const PixelStep& step);

  // Elements that are overwritten at the very end, in this order. Crops and mirrors that follow
  // move the windows.
  void erase(const Erasure& erasure) { erasures_.push_back(erasure); }
  const std::vector<Erasure>& erasures() const { return erasures_; }

  // What comes after the first `done` steps. All of these are PixelSteps.
  LeftToGpu left_after(std::size_t done) const;

  bool operator==(const View&) const = default;

 private:
  ResizeStep& open_step();
  ResizeStep& last_resize();    // opened when a PixelStep is last
  ResizeStep& before_mirror();  // where mirroring the result may be done

  Size image_;
  Size size_;
  Size unpadded_;  // {0, 0}: as size_
  Size input_;     // of the last ResizeStep
  ImageMode mode_ = ImageMode::rgb;
  bool can_reduce_ = false;
  int reduction_ = 1;
  std::vector<PlanStep> steps_;
  std::vector<Erasure> erasures_;
};

}  // namespace tundish
