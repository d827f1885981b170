// Windows and sizes of torchvision 0.28, as fixed numbers.
#include <doctest/doctest.h>

#include <set>
#include <string>

#include "augment/operations/center_crop.h"
#include "augment/operations/random_crop.h"
#include "augment/operations/random_horizontal_flip.h"
#include "augment/operations/random_vertical_flip.h"
#include "augment/operations/resize.h"
#include "augment/transform.h"
#include "base/error.h"

namespace tundish {
namespace {

Size resized(Size image, const Resize& op) {
  View view(image);
  Random unused({}, 0);
  op.plan(view, unused);
  return view.size();
}

Window centered(Size image, Size crop) {
  View view(image);
  Random unused({}, 0);
  CenterCrop{crop}.plan(view, unused);
  return view.first().crop;
}

}  // namespace

TEST_CASE("Resize with one number sets the shorter side and rounds the longer one down") {
  CHECK(resized({500, 375}, {.size = {256, 0}}) == Size{341, 256});
  CHECK(resized({375, 500}, {.size = {256, 0}}) == Size{256, 341});
  CHECK(resized({333, 333}, {.size = {256, 0}}) == Size{256, 256});
  CHECK(resized({1000, 3}, {.size = {7, 0}}) == Size{2333, 7});
  CHECK(resized({1000, 500}, {.size = {256, 0}, .max_size = 400}) == Size{400, 200});
  CHECK(resized({500, 375}, {.size = {256, 0}, .max_size = 341}) == Size{341, 256});
  CHECK(resized({500, 375}, {.size = {10, 20}}) == Size{10, 20});
}

TEST_CASE("Resize refuses a size that is out of range") {
  CHECK_THROWS_AS(resized({65'535, 1}, {.size = {60'000, 0}}), Error);
}

TEST_CASE("CenterCrop rounds half to even and pads missing pixels, fewer of them on the left") {
  CHECK(centered({341, 256}, {224, 224}) == Window{58, 16, 224, 224});
  CHECK(centered({227, 225}, {224, 224}) == Window{2, 0, 224, 224});
  CHECK(centered({229, 231}, {224, 224}) == Window{2, 4, 224, 224});
  CHECK(centered({100, 300}, {225, 224}) == Window{-62, 38, 225, 224});
  CHECK(centered({100, 101}, {224, 224}) == Window{-62, -61, 224, 224});
}

TEST_CASE("RandomCrop reaches every place of the padded image and no other") {
  std::set<int> left, top;
  for (std::uint64_t i = 0; i < 500; ++i) {
    View view({32, 32});
    Random random({.sample = i}, 0);
    RandomCrop{.size = {32, 32}, .padding = {4, 3, 2, 1}}.plan(view, random);
    left.insert(view.first().crop.x);
    top.insert(view.first().crop.y);
  }
  CHECK(left == std::set<int>{-4, -3, -2, -1, 0, 1, 2});
  CHECK(top == std::set<int>{-3, -2, -1, 0, 1});
}

TEST_CASE("RandomCrop pads both sides by all that is missing when asked to") {
  std::set<int> left;
  for (std::uint64_t i = 0; i < 500; ++i) {
    View view({29, 40});
    Random random({.sample = i}, 0);
    RandomCrop{.size = {32, 32}, .pad_if_needed = true}.plan(view, random);
    CHECK(view.size() == Size{32, 32});
    left.insert(view.first().crop.x);
  }
  CHECK(left == std::set<int>{-3, -2, -1, 0});
}

TEST_CASE("RandomCrop of a smaller image is an error that names both sizes") {
  View view({20, 40});
  Random random({}, 0);
  try {
    RandomCrop{.size = {32, 32}, .padding = {1, 1, 1, 1}}.plan(view, random);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::argument);
    CHECK(error.reason().find("32x32") != std::string::npos);
    CHECK(error.reason().find("22x42") != std::string::npos);
  }
}

TEST_CASE("flips happen with their probability") {
  int x = 0, y = 0;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    View view({8, 8});
    Random first({.sample = i}, 0), second({.sample = i}, 1);
    RandomHorizontalFlip{.p = 0.25}.plan(view, first);
    RandomVerticalFlip{.p = 1.0}.plan(view, second);
    x += view.first().mirror_x;
    y += view.first().mirror_y;
  }
  CHECK(x > 420);
  CHECK(x < 580);
  CHECK(y == 2000);
}

TEST_CASE("flips happen when the number drawn is below p, not when it is p") {
  for (std::uint64_t i = 0; i < 20; ++i) {
    const double drawn = Random({.sample = i}, 0).uniform();
    for (const double more : {0.0, 1e-9}) {
      View view({8, 8});
      Random first({.sample = i}, 0), second({.sample = i}, 0);
      RandomHorizontalFlip{.p = drawn + more}.plan(view, first);
      RandomVerticalFlip{.p = drawn + more}.plan(view, second);
      CHECK(view.first().mirror_x == (more > 0));
      CHECK(view.first().mirror_y == (more > 0));
    }
  }
}

}  // namespace tundish
