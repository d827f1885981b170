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
  // After 512 of them an image of 1,024 pixels is 2^26 wide.
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

}  // namespace tundish
