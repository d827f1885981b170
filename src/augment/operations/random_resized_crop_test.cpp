#include "augment/operations/random_resized_crop.h"

#include <doctest/doctest.h>

#include <cmath>

#include "augment/transform.h"

namespace tundish {

TEST_CASE("crops are inside the image and keep to scale and ratio") {
  const RandomResizedCrop op{.size = {224, 224}};
  double area = 0;
  constexpr int kDraws = 2000;
  for (std::uint32_t i = 0; i < kDraws; ++i) {
    View view({500, 375});
    Random random({.seed = 1, .sample = i}, 0);
    op.plan(view, random);
    REQUIRE(view.steps().size() == 1);
    const Window& crop = view.first().crop;
    REQUIRE(crop.x >= 0);
    REQUIRE(crop.y >= 0);
    REQUIRE(crop.x + crop.width <= 500);
    REQUIRE(crop.y + crop.height <= 375);
    const double ratio = static_cast<double>(crop.width) / crop.height;
    REQUIRE(ratio > 0.74);
    REQUIRE(ratio < 1.36);
    area += static_cast<double>(crop.width) * crop.height / (500 * 375) / kDraws;
    REQUIRE(view.size() == Size{224, 224});
  }
  CHECK(area > 0.41);  // torchvision yields 0.43 for this size
  CHECK(area < 0.45);
}

// Expected windows: torchvision's make_params rewritten in Python, with the same random numbers.
TEST_CASE("the crop is torchvision's for the same numbers, and never changes") {
  const auto crop_of = [](Size image, std::uint64_t sample) {
    View view(image);
    Random random({.seed = 1, .epoch = 2, .sample = sample}, 0);
    RandomResizedCrop{.size = {224, 224}}.plan(view, random);
    return view.first().crop;
  };
  CHECK(crop_of({500, 375}, 3) == Window{93, 7, 383, 363});
  CHECK(crop_of({375, 500}, 4) == Window{139, 195, 201, 166});
  CHECK(crop_of({33, 32}, 6) == Window{2, 13, 14, 16});
}

// Expected windows: torchvision 0.28, RandomResizedCrop.make_params with scale (4, 4).
TEST_CASE("when no try fits, the largest central part of an allowed ratio is taken") {
  const auto crop_of = [](Size image) {
    View view(image);
    Random random({}, 0);
    RandomResizedCrop{.size = {8, 8}, .scale = {4.0, 4.0}}.plan(view, random);
    return view.first().crop;
  };
  CHECK(crop_of({100, 100}) == Window{0, 0, 100, 100});
  CHECK(crop_of({500, 101}) == Window{182, 0, 135, 101});
  CHECK(crop_of({101, 500}) == Window{0, 182, 101, 135});
  CHECK(crop_of({9, 6}) == Window{0, 0, 8, 6});
  CHECK(crop_of({1, 1000}) == Window{0, 499, 1, 1});
}

TEST_CASE("that part has at least one pixel, however thin the image") {
  const auto crop_of = [](Size image, double low, double high) {
    View view(image);
    Random random({}, 0);
    RandomResizedCrop{.size = {8, 8}, .ratio = {low, high}}.plan(view, random);
    return view.first().crop;
  };
  CHECK(crop_of({1, 5}, 3, 4) == Window{0, 2, 1, 1});
  CHECK(crop_of({1, 1}, 3, 4) == Window{0, 0, 1, 1});
  CHECK(crop_of({5, 1}, 0.1, 0.2) == Window{2, 0, 1, 1});
}

}  // namespace tundish
