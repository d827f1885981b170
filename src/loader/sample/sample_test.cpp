#include "loader/sample/sample.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>

#include "augment/transform.h"
#include "data/source/memory_source.h"

namespace tundish {
namespace {

Recipe recipe_of(Transforms transforms) {
  const auto source = std::make_shared<MemorySource>();
  source->schema_ = {{{"image", FieldType::image}}, {}, "test"};
  Random random({}, 0);
  for (int i = 0; i < 4; ++i) {
    source->items.push_back({std::to_string(i), -1, {npy_image(40, 30, random)}});
  }
  Recipe recipe;
  recipe.source = source;
  const PixelTable table = pixel_table(transforms);
  recipe.views = {{.transforms = std::move(transforms),
                   .dtype = table.dtype,
                   .stored = table.dtype,
                   .table = table}};
  return recipe;
}

// Loads a sample into `pixels`, 8 by 8 pixels; null omits the image.
void load(std::byte* pixels, const Recipe& recipe, std::uint64_t sample, Scratch& scratch) {
  const Placement row{pixels, 24, 3, 1};
  const Draw draw{.sample = sample};
  write_rows({&row, 1}, read_and_plan(recipe, 0, draw, DecodedBy::cpu, scratch), recipe, draw,
             scratch);
}

}  // namespace

TEST_CASE("an image that is left out costs its reading and no decoding") {
  const Recipe recipe = recipe_of({Resize{.size = {8, 8}}});
  Scratch scratch;
  std::vector<std::byte> pixels(8 * 8 * 3);
  load(pixels.data(), recipe, 0, scratch);
  REQUIRE(scratch.timer.times().decode_ns > 0);  // from an earlier image
  load(nullptr, recipe, 1, scratch);
  CHECK(scratch.timer.times().bytes > 0);
  CHECK(scratch.timer.times().read_ns > 0);
  CHECK(scratch.timer.times().decode_ns == 0);
  CHECK(scratch.timer.times().augment_ns == 0);
}

TEST_CASE("decoding and augmenting share what is measured on one sample of many") {
  const Recipe recipe = recipe_of({Resize{.size = {8, 8}}});
  std::vector<std::byte> pixels(8 * 8 * 3);
  Scratch scratch;
  std::uint64_t measured_ns = 0;
  constexpr std::uint64_t kEvery = SampleTimer::kMeasured;
  for (std::uint64_t i = 0; i < 2 * kEvery; ++i) {
    load(pixels.data(), recipe, i % 4, scratch);
    const SampleTimer& timer = scratch.timer;
    CHECK((timer.measured_ns() > measured_ns) == (i % kEvery == 0));
    measured_ns = timer.measured_ns();
    CHECK(timer.measured_decode_ns() > 0);
    CHECK(timer.measured_decode_ns() < timer.measured_ns());
    CHECK(timer.times().decode_ns > 0);
    CHECK(timer.times().augment_ns > 0);
  }
}

TEST_CASE("an image that takes several steps takes no new memory after the first") {
  const Recipe recipe =
      recipe_of({Resize{.size = {20, 20}}, RandomCrop{.size = {24, 24}, .padding = {4, 4, 4, 4}},
                 Resize{.size = {8, 8}}});
  REQUIRE(plan_view(recipe.views.front().transforms, {40, 30}, {}).steps().size() > 1);
  std::vector<std::byte> pixels(8 * 8 * 3);
  Scratch scratch;
  std::array<const std::uint8_t*, 2> memory{};
  for (std::uint64_t i = 0; i < 4; ++i) {
    load(pixels.data(), recipe, i, scratch);
    std::array now = scratch.plan.images();
    std::sort(now.begin(), now.end());
    if (i < 2) memory = now;
    CHECK(memory == now);
  }
}

}  // namespace tundish
