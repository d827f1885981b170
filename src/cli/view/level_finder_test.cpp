#include "cli/view/level_finder.h"

#include <doctest/doctest.h>

#include <bit>

#include "augment/transform.h"
#include "cli/view/over_white.h"

namespace tundish::cli {

TEST_CASE("every level comes back from its element") {
  for (const Transforms& list :
       {Transforms{}, Transforms{Normalize{}},
        Transforms{ToDtype{Dtype::float16, true}, Normalize{}},
        Transforms{Normalize{.mean = {{0.5, 0.5, 0.5}}, .std = {{-0.2, 0.2, 7}}}}}) {
    const PixelTable table = pixel_table(in_float32(list));
    const LevelFinder finder(table);
    for (std::size_t c = 0; c < 3; ++c) {
      for (std::size_t level = 0; level < 256; ++level) {
        const std::uint32_t bits = table.value[c][level];
        const float element =
            table.dtype == Dtype::uint8 ? static_cast<float>(bits) : std::bit_cast<float>(bits);
        CHECK(finder.level(element, c) == level);
      }
    }
  }
}

TEST_CASE("an element that no level has becomes the nearest") {
  const LevelFinder finder(pixel_table({Normalize{}}));
  CHECK(finder.level(-100, 0) == 0);
  CHECK(finder.level(100, 0) == 255);
  CHECK(finder.level(0, 0) == 124);  // red mean, 0.485
  CHECK(finder.level(0, 2) == 104);  // blue mean, 0.406
}

TEST_CASE("the alpha has a table of its own") {
  Normalize four{.mean = {{0.5, 0.5, 0.5}}, .std = {{0.2, 0.2, 0.2}}};
  four.mean.fourth = 0;
  four.std.fourth = 1;
  const LevelFinder finder(pixel_table({four}, ImageMode::rgba));
  CHECK(finder.level(0, 2) == 127);
  CHECK(finder.level(0, 3) == 0);
  CHECK(finder.level(1, 3) == 255);
}

TEST_CASE("what is transparent is shown as white") {
  const std::vector<std::uint8_t> rgba = {9, 8, 7, 255, 9, 8, 7, 0, 0, 100, 255, 51};
  CHECK(over_white(rgba) == std::vector<std::uint8_t>{9, 8, 7, 255, 255, 255, 204, 224, 255});
}

}  // namespace tundish::cli
