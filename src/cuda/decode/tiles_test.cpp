#include "cuda/decode/tiles.h"

#include <doctest/doctest.h>

#include "cuda/decode/axis_output.h"
#include "cuda/decode/testing.h"
#include "cuda/decode/tile_shape.h"

namespace tundish::cuda {
namespace {

AxisOutput output_of(const ImageTask& image, int axis, int output) {
  return AxisOutput(image.axis[axis], image.filter, output);
}

int first_input(const ImageTask& image, int axis, int output) {
  return output_of(image, axis, output).first();
}

// Checks the bounds as output.cu accesses the shared memory of a block.
void check_fits(const ImageTask& image, const Item& item) {
  const AxisTask &axis_x = image.axis[0], &axis_y = image.axis[1];
  const int columns = item.x1 - item.x0, rows = item.y1 - item.y0;
  REQUIRE(columns >= 1);
  REQUIRE(columns <= kTileColumns);
  REQUIRE(rows >= 1);
  REQUIRE(rows <= kTileRows);
  const Reach x =
      reach_of(axis_x, first_input(image, 0, item.x0), first_input(image, 0, item.x1 - 1));
  const Reach y =
      reach_of(axis_y, first_input(image, 1, item.y0), first_input(image, 1, item.y1 - 1));
  const TileShape shape(image, x, columns);
  REQUIRE(shape.rows_at_once >= 4);
  REQUIRE(3 * shape.rows_at_once * shape.pitch <= kTileRgbBytes);
  for (int column = item.x0; column < item.x1; ++column) {
    const int tap = shape.indent + first_input(image, 0, column) - x.from;
    REQUIRE(tap >= 0);
    REQUIRE(tap + output_of(image, 0, column).used <= 8 * shape.eights);
    // Groups of taps are read whole. Inputs after the last have no weight; their bytes may be in
    // the next row or in the data after the rows.
    REQUIRE(3 * shape.rows_at_once * shape.pitch + 4 * (axis_x.groups + 1) <=
            kTileRgbBytes + 4 * kTileRowWords);
  }
  REQUIRE(3 * shape.words * columns <= kTileRowWords);
  REQUIRE((y.to - y.from + 3) / 4 <= shape.words);  // written by the horizontal pass
  for (int row = item.y0; row < item.y1; ++row) {
    const int input = first_input(image, 1, row) - y.from;
    REQUIRE(input >= 0);
    REQUIRE(input / 4 + axis_y.groups + 1 <= shape.words);  // read by the vertical pass
  }
}

AxisTask axis_of(int in, int out) {
  const int taps = in == out ? 1 : ResizedLine(in, out, Filter::bilinear).most_inputs();
  AxisTask axis = {};
  axis.in = axis.end = static_cast<std::uint16_t>(in);
  axis.out = axis.keep = static_cast<std::uint16_t>(out);
  axis.taps = static_cast<std::uint16_t>(taps);
  axis.groups = static_cast<std::uint16_t>((taps + 3) / 4);
  return axis;
}

// Returns the number of tiles of a resize and checks that each tile fits.
std::size_t tiles_of(Size in, Size out) {
  ImageTask task = {};
  task.filter = Filter::bilinear;
  task.axis[0] = axis_of(in.width, out.width);
  task.axis[1] = axis_of(in.height, out.height);
  std::vector<Item> items;
  if (!add_tiles(items, task, 0)) return 0;
  for (const Item& item : items) check_fits(task, item);
  return items.size();
}

}  // namespace

TEST_CASE("tiles are all of an image's output, each pixel once, and fit into shared memory") {
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  Random random({.seed = seed}, 0);
  std::size_t tiles = 0;
  for (int round = 0; round < 25; ++round) {
    CAPTURE(round);
    const auto record = random_record(random, round % 5 == 0 ? 1500 : 400, lanes::builtin_tables());
    BatchPlan plan;
    plan.begin();
    for (int i = 0; i < 20; ++i) {
      plan.add(record, random_view(random, size_of(record), i % 3 == 0 ? 500 : 120), {});
    }
    std::vector<std::vector<int>> seen;
    for (const ImageTask& image : plan.images()) {
      seen.emplace_back(std::size_t{image.axis[0].keep} * image.axis[1].keep);
    }
    for (const Item& item : plan.items()) {
      const ImageTask& image = plan.images()[item.image];
      check_fits(image, item);
      for (std::size_t y = item.y0; y < item.y1; ++y) {
        for (std::size_t x = item.x0; x < item.x1; ++x) {
          ++seen[item.image].at(y * image.axis[0].keep + x);
        }
      }
    }
    for (const auto& image : seen) {
      REQUIRE(std::count(image.begin(), image.end(), 1) == std::ssize(image));
    }
    tiles += plan.items().size();
  }
  CHECK(tiles > 500);
}

TEST_CASE("a tile has as many rows as there is room for") {
  const auto tiles_of_rows = [](int rows) {
    return tiles_of({kTileColumns, rows}, {kTileColumns, rows});
  };
  CHECK(tiles_of_rows(41) == 1);  // 12 words of four rows, minus one word to shift and the rounding
  CHECK(tiles_of_rows(42) == 2);
  CHECK(tiles_of_rows(82) == 2);
  CHECK(tiles_of_rows(83) == 3);
}

TEST_CASE("a crop that is made much smaller takes narrow tiles, or none") {
  for (int width = 1000; width <= 20'000; width += 500) {
    CAPTURE(width);
    CHECK(tiles_of({width, 10}, {200, 10}) >= static_cast<std::size_t>(width) / 1400);
  }
  CHECK(tiles_of({60'000, 10}, {60, 10}) == 0);
  CHECK(tiles_of({10, 60'000}, {10, 60}) > 0);
}

}  // namespace tundish::cuda
