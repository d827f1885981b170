// A plan: the operations on the pixels of one draw, as data. Every random choice is made while
// planning, before a byte is decoded. Running a plan draws no numbers.
//
// A view is an ordered list of steps. The first is a ResizeStep. Often it is the only step, and the
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
#include "augment/gpu_work.h"
#include "augment/image_mode.h"
#include "augment/pixels/pixel_step.h"
#include "base/image.h"
#include "base/random.h"

namespace tundish {

class Transforms;

// Cuts `crop` out of its input (areas outside are padding), resizes the cut to `size`, keeps the
// window `keep` of the result, then mirrors it. A crop after a resize costs nothing: only
// the kept pixels are computed.
struct ResizeStep {
  Window crop;  // in the coordinates of the step's input
  PadMode pad_mode = PadMode::constant;
  std::array<std::uint8_t, 3> fill{};  // fill of PadMode::constant
  Size size;                           // size of the whole resized crop
  Filter filter = Filter::bilinear;    // unused if size equals the crop's size
  // Resizes from right to left (from bottom to top): mirror, resize, mirror back. Differs from
  // a plain resize, because Pillow rounds its weights from left to right.
  bool backwards_x = false;
  bool backwards_y = false;
  Window keep;  // inside size
  bool mirror_x = false;
  bool mirror_y = false;
  // ImageMode::rgba: the next step continues the same resize, so colors stay multiplied by their
  // alpha.
  bool resize_continues = false;
  bool operator==(const ResizeStep&) const = default;
};

// Whether the step changes the size.
bool resizes(const ResizeStep& step);

// Returns the part of a line of n pixels that places from .. to - 1 of the padded line show;
// {0, 0} if these places are all padding.
struct Range {
  int from, length;
};
Range needed_range(int from, int to, int n, PadMode mode);

// Limit of intermediate results before a crop makes them smaller; safe in 32-bit arithmetic.
constexpr int kMaxPlannedSide = 1 << 26;

using PlanStep = std::variant<ResizeStep, PixelStep>;

// Returns the number of PixelSteps before the first ResizeStep.
std::size_t leading_pixel_steps(std::span<const PlanStep> steps);

// Whether cuda/augment/pixel_steps.cu supports the step: results must keep the image's size, and
// kernels must not exceed kMaxGaussianKernel pixels.
bool runs_on_gpu(const PixelStep& step);
// Same as runs_on_gpu(), between mix_begin and mix_end. False for jpeg, and for elastic, which
// would need the memory that holds the sums. (No transform puts elastic there.)
bool runs_on_gpu_in_mix(const PixelStep& step);

// Returns how many of the last steps a GPU can run. A GPU runs either a whole mix or none of it.
std::size_t steps_for_gpu(std::span<const PlanStep> steps);

class View {
 public:
  // A view of an unchanged image. `can_reduce`: the image is a JPEG that can be decoded at 1/2, 1/4
  // or 1/8 of its size.
  explicit View(Size image, ImageMode mode = ImageMode::rgb, bool can_reduce = false);

  Size image() const { return image_; }         // size of the decoded image
  Size size() const { return size_; }           // size of the result so far
  int reduction() const { return reduction_; }  // the image is decoded at 1 / reduction()
  // The size without the padding of pad_to(), unless a crop or a resize followed.
  Size unpadded() const { return unpadded_ == Size{} ? size_ : unpadded_; }
  const std::vector<PlanStep>& steps() const { return steps_; }  // at least one
  const ResizeStep& first() const { return *std::get_if<ResizeStep>(&steps_.front()); }
  ImageMode mode() const { return mode_; }
  bool is_one_resize() const { return steps_.size() == 1; }

  // Pillow's Image.draft("RGB", size): decodes the image at 1/2, 1/4 or 1/8 of its size if that
  // is no smaller than `size`. Must be the first call; does nothing if the image cannot be
  // reduced.
  void draft(Size size);

  // Each of these folds into the last step if that is exact, and opens a new step otherwise.
  void crop(const Window& window, PadMode mode = PadMode::constant,
            std::array<std::uint8_t, 3> fill = {});
  void resize(Size size, Filter filter);
  // Places the image at the top left of a larger one.
  void pad_to(Size size, std::array<std::uint8_t, 3> fill);
  void mirror_x();
  void mirror_y();

  void add(const PixelStep& step);

  // Adds elements to overwrite at the very end, in call order. Later crops and mirrors move the
  // windows.
  void erase(const Erasure& erasure) { erasures_.push_back(erasure); }
  const std::vector<Erasure>& erasures() const { return erasures_; }

  // Returns the work after the first `done` steps, which must all be PixelSteps.
  GpuWork gpu_work_after(std::size_t done) const;

  bool operator==(const View&) const = default;

 private:
  ResizeStep& open_step();
  ResizeStep& last_resize();    // opens a step if the last is a PixelStep
  ResizeStep& before_mirror();  // the step that may mirror the result

  Size image_;
  Size size_;
  Size unpadded_;  // {0, 0}: same as size_
  Size input_;     // input size of the last ResizeStep
  ImageMode mode_ = ImageMode::rgb;
  bool can_reduce_ = false;
  int reduction_ = 1;
  std::vector<PlanStep> steps_;
  std::vector<Erasure> erasures_;
};

// Version of the random draws, stored in saved states. A transform's stream is keyed by its name
// and its index among the transforms of that name, so inserting another changes no draw.
constexpr int kRandomVersion = 2;  // 1: keyed by the place in the list

// Plans one view with the sizes of the key's epoch. Pure: the same image size, transforms and key
// give the same plan. Throws Error(argument) if an image cannot be processed: it is smaller than
// a RandomCrop, or the result has more than kMaxResultPixels.
constexpr std::int64_t kMaxResultPixels = 178'956'970;
View plan_view(const Transforms& transforms, Size image, const Key& key, std::uint32_t crop = 0,
               ImageMode mode = ImageMode::rgb, bool can_reduce = false);

}  // namespace tundish
