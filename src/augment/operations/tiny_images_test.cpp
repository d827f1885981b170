// Images of a few pixels, and random arguments. Whatever the transforms are, a plan crops and keeps
// at least one pixel, and nothing outside of the image.
#include <doctest/doctest.h>

#include <cmath>
#include <optional>

#include "augment/transform.h"
#include "base/error.h"
#include "base/testing.h"

namespace tundish {
namespace {

// Draws a side: mostly small, sometimes long.
int random_side(Random& random) {
  return random.below(8) == 0 ? between(random, 100, 65'535) : between(random, 1, 6);
}

Size random_size(Random& random) { return {random_side(random), random_side(random)}; }

// Draws two numbers from tiny to huge, in ascending order.
std::array<double, 2> random_pair(Random& random) {
  const double a = std::exp(random.uniform(-6, 6)), b = std::exp(random.uniform(-6, 6));
  return {std::min(a, b), std::max(a, b)};
}

bool pads(const Transform& transform) {
  return std::holds_alternative<CenterCrop>(transform) ||
         std::holds_alternative<RandomCrop>(transform) ||
         std::holds_alternative<CenterCropOrPad>(transform) ||
         std::holds_alternative<RandomCropOrPad>(transform);
}

Transform random_transform_of_timm(Random& random) {
  const auto mode = static_cast<PadMode>(random.below(4));
  switch (random.below(4)) {
    case 0:
      return ResizeKeepRatio{.size = random_size(random),
                             .longest = random.uniform(),
                             .random_scale_prob = 0.5,
                             .random_scale_range = random_pair(random),
                             .random_scale_area = random.below(2) == 0,
                             .random_aspect_prob = 0.5,
                             .random_aspect_range = random_pair(random)};
    case 1:
      return CenterCropOrPad{.size = random_size(random), .padding_mode = mode};
    case 2:
      return RandomCropOrPad{.size = random_size(random), .padding_mode = mode};
    default:
      return TrimBorder{between(random, 0, 2)};
  }
}

Transform random_transform(Random& random) {
  if (random.below(4) == 0) return random_transform_of_timm(random);
  switch (random.below(6)) {
    case 0:
      return RandomResizedCrop{
          .size = random_size(random), .scale = random_pair(random), .ratio = random_pair(random)};
    case 1: {
      Resize op{.size = {random_side(random), random.below(2) == 0 ? 0 : random_side(random)}};
      if (op.size.height == 0 && random.below(2) == 0) {
        op.max_size = std::min(op.size.width + between(random, 1, 9), 65'535);
      }
      return op;
    }
    case 2:
      return CenterCrop{.size = random_size(random)};
    case 3: {
      RandomCrop op{.size = random_size(random),
                    .pad_if_needed = random.below(2) == 0,
                    .padding_mode = static_cast<PadMode>(random.below(4))};
      for (int* side : {&op.padding.left, &op.padding.top, &op.padding.right, &op.padding.bottom}) {
        *side = between(random, 0, 3);
      }
      return op;
    }
    case 4:
      return RandomHorizontalFlip{};
    default:
      return RandomVerticalFlip{};
  }
}

bool is_inside(const Window& window, Size size) {
  return window.x >= 0 && window.y >= 0 && window.width <= size.width - window.x &&
         window.height <= size.height - window.y;
}

std::optional<View> plan(const Transforms& transforms, Size image, const Key& key) {
  try {
    check_transforms(transforms);
    return plan_view(transforms, image, key);
  } catch (const Error& error) {  // the image is smaller than the crop, or the result is too large
    CHECK(error.code() == ErrorCode::argument);
    return std::nullopt;
  }
}

void check_plan(const View& view, bool padded) {
  Size input = view.image();
  for (const PlanStep& one : view.steps()) {
    const ResizeStep& step = std::get<ResizeStep>(one);
    CAPTURE(input.width);
    CAPTURE(input.height);
    REQUIRE(step.crop.width > 0);
    REQUIRE(step.crop.height > 0);
    if (!padded) REQUIRE(is_inside(step.crop, input));
    REQUIRE(step.size.width > 0);
    REQUIRE(step.size.height > 0);
    REQUIRE(step.keep.width > 0);
    REQUIRE(step.keep.height > 0);
    REQUIRE(is_inside(step.keep, step.size));
    input = {step.keep.width, step.keep.height};
  }
}

}  // namespace

TEST_CASE("every plan of a tiny image has pixels, all of them inside the image") {
  int planned = 0;
  for (std::uint64_t i = 0; i < 40'000; ++i) {
    Random random({.seed = 17, .sample = i}, 0);
    const Size image = random_size(random);
    std::vector<Transform> transforms;
    bool padded = false;
    for (int n = between(random, 1, 4); n > 0; --n) {
      transforms.push_back(random_transform(random));
      padded |= pads(transforms.back());
    }
    const std::optional<View> view = plan(transforms, image, {.seed = 3, .sample = i});
    if (!view) continue;
    ++planned;
    CAPTURE(i);
    check_plan(*view, padded);
    const Size fixed = fixed_size(transforms, 0);
    if (fixed != Size{}) REQUIRE(view->size() == fixed);
  }
  CHECK(planned > 20'000);
}

}  // namespace tundish
