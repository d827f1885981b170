#include "rewrite/preprocess/target.h"

#include <doctest/doctest.h>

#include "base/random.h"
#include "base/testing.h"

namespace tundish {
namespace {

PreprocessOptions shortest(int side) { return {.resize = ResizeTo::shortest, .side = side}; }

}  // namespace

TEST_CASE("target: the shorter side, the longer side, or both") {
  CHECK(target_of(shortest(256), {500, 375}).size == Size{341, 256});
  CHECK(target_of(shortest(256), {375, 500}).size == Size{256, 341});
  const PreprocessOptions longest{.resize = ResizeTo::longest, .side = 512};
  CHECK(target_of(longest, {1024, 333}).size == Size{512, 166});
  CHECK(target_of(longest, {3, 4096}).size == Size{1, 512});
  const PreprocessOptions exact{.resize = ResizeTo::exact, .exact = {64, 48}};
  CHECK(target_of(exact, {500, 375}).size == Size{64, 48});
}

TEST_CASE("target: an image that has the size stays") {
  CHECK_FALSE(target_of(shortest(256), {256, 300}).changes);
  CHECK_FALSE(target_of(shortest(256), {256, 300}).too_small);
  PreprocessOptions options = shortest(256);
  options.center_crop = {256, 256};
  CHECK(target_of(options, {256, 300}).changes);
  CHECK_FALSE(target_of(options, {256, 256}).changes);
}

TEST_CASE("target: nothing is enlarged or padded unless that is asked for") {
  PreprocessOptions options = shortest(256);
  Target target = target_of(options, {255, 900});
  CHECK(target.too_small);
  CHECK(target.size == Size{255, 900});
  CHECK(target.transforms.list().empty());
  options.enlarge = true;
  target = target_of(options, {255, 900});
  CHECK_FALSE(target.too_small);
  CHECK(target.size == Size{256, 903});
  // The crop would pad; the resize alone would not enlarge.
  PreprocessOptions crop = shortest(100);
  crop.center_crop = {224, 100};
  CHECK(target_of(crop, {200, 200}).too_small);
  CHECK_FALSE(target_of(crop, {600, 200}).too_small);
}

TEST_CASE("target: a result that no encoding can have is not made") {
  PreprocessOptions options = shortest(4096);
  options.enlarge = true;
  CHECK(target_of(options, {65'535, 1}).too_small);
  CHECK(target_of(options, {65'535, 100}).too_small);
}

TEST_CASE("target: doing it twice changes nothing") {
  Random random({.seed = test_seed()}, 0);
  for (int round = 0; round < 2000; ++round) {
    const Size image{1 + static_cast<int>(random.below(900)),
                     1 + static_cast<int>(random.below(900))};
    PreprocessOptions options = shortest(1 + static_cast<int>(random.below(400)));
    if (random.below(2) == 0) options.resize = ResizeTo::longest;
    const Target once = target_of(options, image);
    const Target twice = target_of(options, once.size);
    CAPTURE(image.width);
    CAPTURE(image.height);
    CAPTURE(options.side);
    CHECK((twice.size == once.size));
  }
}

}  // namespace tundish
