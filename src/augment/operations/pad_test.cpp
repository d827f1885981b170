#include "augment/operations/pad.h"

#include <doctest/doctest.h>

#include "augment/transforms.h"

namespace tundish {

TEST_CASE("Pad adds pixels on each side, and the plan reads what is inside") {
  const Pad pad{.padding = {1, 2, 3, 4}, .fill = {7, 8, 9}, .padding_mode = PadMode::edge};
  const View view = plan_view({pad}, {20, 10}, {});
  CHECK(view.size() == Size{24, 16});
  CHECK(view.steps().size() == 1);
  CHECK(view.steps()[0].crop == Window{-1, -2, 24, 16});
  CHECK(view.steps()[0].pad_mode == PadMode::edge);
  CHECK(view.steps()[0].fill == Fill{7, 8, 9});
}

TEST_CASE("the size of a padded image is known where that of the image is") {
  CHECK(fixed_size({Pad{.padding = {1, 1, 1, 1}}}) == Size{});
  CHECK(fixed_size({CenterCrop{{8, 6}}, Pad{.padding = {1, 2, 3, 4}}}) == Size{12, 12});
}

}  // namespace tundish
