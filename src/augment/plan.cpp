#include "augment/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <string_view>

#include "augment/pixels/blur/blur_ops.h"
#include "augment/pixels/tensors/elastic_ops.h"
#include "augment/transform.h"
#include "base/error.h"

namespace tundish {
namespace {

ResizeStep whole(Size input) {
  const Window all{0, 0, input.width, input.height};
  return {.crop = all, .size = input, .keep = all};
}

// Whether a window fits a line of n pixels along one axis.
bool inside(int from, int length, int n) { return from >= 0 && from + length <= n; }

}  // namespace

bool resizes(const ResizeStep& step) {
  return step.size != Size{step.crop.width, step.crop.height};
}

Range needed_range(int from, int to, int n, PadMode mode) {
  if (from >= 0 && to <= n) return {from, to - from};
  int low = n, high = -1;
  for (int i = from; i < to; ++i) {
    const int index = padded_index(i, n, mode);
    if (index < 0) continue;
    low = std::min(low, index);
    high = std::max(high, index);
  }
  return high < 0 ? Range{0, 0} : Range{low, high + 1 - low};
}

std::size_t leading_pixel_steps(std::span<const PlanStep> steps) {
  std::size_t count = 0;
  while (count < steps.size() && std::holds_alternative<PixelStep>(steps[count])) ++count;
  return count;
}

bool runs_on_gpu(const PixelStep& step) {
  if (step.size != Size{}) return false;
  if (step.op == PixelOp::gaussian_blur) {
    return step.value[0] <= kMaxGaussianKernel && step.value[1] <= kMaxGaussianKernel;
  }
  if (step.op == PixelOp::elastic) {
    return elastic_kernel(std::max(step.value[2], step.value[3])) <= kMaxGaussianKernel;
  }
  return true;
}

bool runs_on_gpu_in_mix(const PixelStep& step) {
  return runs_on_gpu(step) && step.op != PixelOp::elastic && step.op != PixelOp::jpeg;
}

std::size_t steps_for_gpu(std::span<const PlanStep> steps) {
  std::size_t complete = 0;  // steps up to here contain only complete mixes
  bool in_mix = false;
  for (std::size_t count = 1; count <= steps.size(); ++count) {
    const PixelStep* step = std::get_if<PixelStep>(&steps[steps.size() - count]);
    if (!step || !(in_mix ? runs_on_gpu_in_mix(*step) : runs_on_gpu(*step))) break;
    if (step->op == PixelOp::mix_end) in_mix = true;
    if (kind_of(step->op) == PixelKind::mix && !in_mix) break;  // the mix_end is missing
    if (step->op == PixelOp::mix_begin) in_mix = false;
    if (!in_mix) complete = count;
  }
  return complete;
}

View::View(Size image, ImageMode mode, bool can_reduce)
    : image_(image),
      size_(image),
      input_(image),
      mode_(mode),
      can_reduce_(can_reduce),
      steps_{whole(image)} {}

void View::draft(Size size) {
  if (!can_reduce_ || !is_one_resize() || first() != whole(image_)) return;
  const int most = std::min(image_.width / size.width, image_.height / size.height);
  reduction_ = most >= 8 ? 8 : most >= 4 ? 4 : most >= 2 ? 2 : 1;
  image_ = {(image_.width + reduction_ - 1) / reduction_,
            (image_.height + reduction_ - 1) / reduction_};
  size_ = input_ = image_;
  steps_ = {whole(image_)};
}

ResizeStep& View::open_step() {
  input_ = size_;
  return std::get<ResizeStep>(steps_.emplace_back(whole(size_)));
}

ResizeStep& View::last_resize() {
  ResizeStep* last = std::get_if<ResizeStep>(&steps_.back());
  return last ? *last : open_step();
}

ResizeStep& View::before_mirror() {
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    if (ResizeStep* resize = std::get_if<ResizeStep>(&*step)) return *resize;
    if (!allows_mirror_before(std::get_if<PixelStep>(&*step)->op)) break;
  }
  return open_step();
}

void View::crop(const Window& window, PadMode mode, std::array<std::uint8_t, 3> fill) {
  assert(window.width > 0 && window.height > 0);
  for (Erasure& erasure : erasures_) {
    erasure.window.x -= window.x;
    erasure.window.y -= window.y;
  }
  const bool inside_x = inside(window.x, window.width, size_.width);
  const bool inside_y = inside(window.y, window.height, size_.height);
  ResizeStep* last = &last_resize();
  if (!inside_x || !inside_y) {
    // The padding of this crop can become padding of the step's input only if the result spans the
    // whole input; otherwise pixels cut off before would reappear.
    const bool spans_x = last->crop.x == 0 && last->crop.width == input_.width;
    const bool spans_y = last->crop.y == 0 && last->crop.height == input_.height;
    const bool padded = !inside(last->crop.x, last->crop.width, input_.width) ||
                        !inside(last->crop.y, last->crop.height, input_.height);
    if (resizes(*last) || padded || !(inside_x || spans_x) || !(inside_y || spans_y)) {
      last = &open_step();
    }
  }

  // Mirroring comes last in a step, so the window moves to the mirrored side.
  ResizeStep& step = *last;
  const int x = step.mirror_x ? size_.width - window.x - window.width : window.x;
  const int y = step.mirror_y ? size_.height - window.y - window.height : window.y;
  if (!inside_x || !inside_y) {
    step.pad_mode = mode;
    step.fill = fill;
  }
  size_ = {window.width, window.height};
  unpadded_ = {};
  if (resizes(step)) {
    step.keep = {step.keep.x + x, step.keep.y + y, window.width, window.height};
  } else {
    step.crop = {step.crop.x + x, step.crop.y + y, window.width, window.height};
    step.size = size_;
    step.keep = {0, 0, window.width, window.height};
  }
}

void View::pad_to(Size size, std::array<std::uint8_t, 3> fill) {
  const Size image = size_;
  for (Erasure& erasure : erasures_) {  // an erased part that a crop cut off stays off
    Window& window = erasure.window;
    window.width = std::min(window.width, image.width - window.x);
    window.height = std::min(window.height, image.height - window.y);
  }
  std::erase_if(erasures_,
                [](const Erasure& one) { return one.window.width <= 0 || one.window.height <= 0; });
  if (size != image) crop({0, 0, size.width, size.height}, PadMode::constant, fill);
  unpadded_ = image;
}

void View::resize(Size size, Filter filter) {
  assert(size.width > 0 && size.height > 0);
  if (size == size_) return;
  unpadded_ = {};
  // For images of this shape, Pillow 12's Image.resize() runs the vertical pass first. For all
  // others it runs the horizontal pass first.
  if (size_.height > std::int64_t{100} * size_.width && size.height < size_.height &&
      size.width != size_.width) {
    resize({size_.width, size.height}, filter);
    std::get<ResizeStep>(steps_.back()).resize_continues = mode_ == ImageMode::rgba;
  }
  ResizeStep* last = &last_resize();
  if (resizes(*last)) last = &open_step();
  ResizeStep& step = *last;
  step.size = size_ = size;
  step.filter = filter;
  step.keep = {0, 0, size.width, size.height};
  step.backwards_x = step.mirror_x;
  step.backwards_y = step.mirror_y;
}

void View::add(const PixelStep& step) {
  steps_.emplace_back(step);
  if (step.size != Size{}) {
    size_ = step.size;
    unpadded_ = {};
  }
  // Channels have independent noise: copies the noise of the first channel to the others.
  if (mode_ == ImageMode::l && kind_of(step.op) == PixelKind::noise) {
    steps_.emplace_back(PixelStep{.op = PixelOp::permute_channels});
  }
}

GpuWork View::gpu_work_after(std::size_t done) const {
  GpuWork work;
  for (std::size_t i = done; i < steps_.size(); ++i) {
    work.steps.push_back(std::get<PixelStep>(steps_[i]));
  }
  work.erasures = erasures_;
  return work;
}

void View::mirror_x() {
  ResizeStep& step = before_mirror();
  step.mirror_x = !step.mirror_x;
  for (Erasure& erasure : erasures_) {
    erasure.window.x = size_.width - erasure.window.x - erasure.window.width;
  }
}

void View::mirror_y() {
  ResizeStep& step = before_mirror();
  step.mirror_y = !step.mirror_y;
  for (Erasure& erasure : erasures_) {
    erasure.window.y = size_.height - erasure.window.y - erasure.window.height;
  }
}

// --- planning a list of transforms ---------------------------------------------------------------

namespace {

// FNV-1a hash of a transform's name, part of the key of its random stream.
constexpr std::uint64_t hash_of(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

// Number of earlier transforms of each type, including transforms that were not chosen. The choice
// of a container therefore changes no draw of other transforms.
using Numbers = std::array<std::uint32_t, std::variant_size_v<AnyTransform>>;

// Limit of steps and erasures of a plan. A saved state of a few kilobytes could otherwise request
// gigabytes of steps: one RandAugment makes up to 1,000.
constexpr std::size_t kMaxPlanSteps = 10'000;

void check_length(const View& view) {
  if (view.steps().size() + view.erasures().size() <= kMaxPlanSteps) return;
  throw Error(
      ErrorCode::argument, {},
      fmt::format("the transforms would do more than {} operations on an image", kMaxPlanSteps));
}

// `elements`: ToDtype or Normalize came before this transform.
void plan_one(View& view, const Transform& transform, const Key& key, Numbers& numbers,
              bool elements, std::uint32_t crop, bool chosen) {
  const std::uint32_t number = numbers[transform.index()]++;
  std::visit(
      [&]<class Op>(const Op& op) {
        constexpr std::uint64_t kStream = hash_of(Op::kName);
        if constexpr (Container<Op>) {
          std::vector<Numbers> before;
          for (const Transform& one : op.transforms.list()) {
            before.push_back(numbers);
            plan_one(view, one, key, numbers, elements, crop, false);
          }
          if (!chosen) return;
          Random random(key, kStream + number);
          for (const std::size_t i : op.choose(random)) {
            plan_one(view, op.transforms.list()[i], key, before[i], elements, crop, true);
          }
        } else if constexpr (MakesCrops<Op>) {
          op.plan_crop(view, crop);
        } else if constexpr (requires(Random& random) { op.plan(view, random); }) {
          if (!chosen) return;
          Random random(key, kStream + number);
          bool planned = false;
          if constexpr (requires { op.plan_elements(view, random); }) {
            if (elements) op.plan_elements(view, random);
            planned = elements;
          }
          if (!planned) op.plan(view, random);
          check_length(view);
        }
      },
      transform);
}

}  // namespace

View plan_view(const Transforms& transforms, Size image, const Key& key, std::uint32_t crop,
               ImageMode mode, bool can_reduce) {
  const Transforms now = transforms.at(key.epoch);
  View view(image, mode, can_reduce);
  Numbers numbers{};
  bool elements = false;
  for (const Transform& transform : now.list()) {
    plan_one(view, transform, key, numbers, elements, crop, true);
    elements |= std::holds_alternative<Normalize>(transform) ||
                (std::holds_alternative<ToDtype>(transform) &&
                 std::get<ToDtype>(transform).dtype != Dtype::uint8);
  }
  for (const PlanStep& step : view.steps()) {
    const ResizeStep* resize = std::get_if<ResizeStep>(&step);
    const Size size =
        resize ? Size{resize->keep.width, resize->keep.height} : std::get<PixelStep>(step).size;
    if (std::int64_t{size.width} * size.height <= kMaxResultPixels) continue;
    throw Error(
        ErrorCode::argument, {},
        fmt::format("the transforms would make an image of {}x{} pixels", size.width, size.height));
  }
  return view;
}

}  // namespace tundish
