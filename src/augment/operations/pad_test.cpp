#include "augment/operations/pad.h"

#include <doctest/doctest.h>

#include "augment/transform.h"

namespace tundish {

TEST_CASE("Pad adds pixels on each side, and the plan reads what is inside") {
  const Pad pad{.padding = {1, 2, 3, 4}, .fill = {7, 8, 9}, .padding_mode = PadMode::edge};
  const View view = plan_view({pad}, {20, 10}, {});
  CHECK(view.size() == Size{24, 16});
  CHECK(view.steps().size() == 1);
  CHECK(view.first().crop == Window{-1, -2, 24, 16});
  CHECK(view.first().pad_mode == PadMode::edge);
  CHECK(view.first().fill == Fill{7, 8, 9});
}

TEST_CASE("the size of a padded image is known where that of the image is") {
  CHECK(fixed_size({Pad{.padding = {1, 1, 1, 1}}}, 0) == Size{});
  CHECK(fixed_size({CenterCrop{{8, 6}}, Pad{.padding = {1, 2, 3, 4}}}, 0) == Size{12, 12});
}

TEST_CASE("Pads without end are refused before a side overflows") {
  const Pad pad{.padding = {65'535, 65'535, 65'535, 65'535}};
  const auto refused = [](const auto& call) {
    try {
      call();
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::argument);
      return error.reason();
    }
    return std::string("nothing");
  };
  const Transforms many(std::vector<Transform>(20'000, pad));
  std::vector<Transform> fixed = many.list();
  fixed.insert(fixed.begin(), CenterCrop{{8, 8}});
  // 512 Pads make an image of 1,024 pixels 2^26 wide.
  const char* reason = "Pad: the padded image would have 67108865x67107847 pixels";
  CHECK(refused([&] { plan_view(many, {1'025, 7}, {}); }) == reason);
  CHECK(refused([&] {
          (void)fixed_size(fixed, 0);
        }).starts_with("Pad: the padded image would have "));
  View view({1'024, 7});
  Random unused({}, 0);
  for (int i = 0; i < 512; ++i) pad.plan(view, unused);
  CHECK(view.size() == Size{kMaxPlannedSide, 67'107'847});
}

TEST_CASE("PadTo puts an image at the top left, and the plan knows its size without the padding") {
  const PadTo pad{.size = {30, 20}, .fill = {7, 8, 9}};
  const View view = plan_view({pad}, {24, 10}, {});
  CHECK(view.size() == Size{30, 20});
  CHECK(view.unpadded() == Size{24, 10});
  CHECK(view.first().crop == Window{0, 0, 30, 20});
  CHECK(view.first().fill == Fill{7, 8, 9});
  CHECK(fixed_size({pad}, 0) == Size{30, 20});
  CHECK(plan_view({pad}, {30, 20}, {}).unpadded() == Size{30, 20});
  CHECK(plan_view({}, {24, 10}, {}).unpadded() == Size{24, 10});
  // Mirroring moves the padding to the other side. After a crop or a resize, the result is a new
  // image without padding.
  CHECK(plan_view({pad, RandomHorizontalFlip{1}}, {24, 10}, {}).unpadded() == Size{24, 10});
  CHECK(plan_view({pad, CenterCrop{{9, 8}}}, {24, 10}, {}).unpadded() == Size{9, 8});
  CHECK(plan_view({pad, Resize{.size = {9, 8}}}, {24, 10}, {}).unpadded() == Size{9, 8});
  CHECK_THROWS_AS(plan_view({pad}, {31, 10}, {}), Error);
  CHECK_THROWS_AS(plan_view({pad}, {10, 21}, {}), Error);
}

TEST_CASE("what a crop has cut off an erased window does not come back with PadTo") {
  View view({20, 20});
  view.erase({.window = {2, 3, 10, 10}});
  view.erase({.window = {12, 2, 4, 4}});
  view.crop({0, 0, 8, 6});
  view.pad_to({20, 20}, {});
  REQUIRE(view.erasures().size() == 1);
  CHECK(view.erasures()[0].window == Window{2, 3, 6, 3});
}

}  // namespace tundish
