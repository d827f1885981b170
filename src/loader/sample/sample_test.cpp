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

}  // namespace

TEST_CASE("an image that is left out costs its reading and no decoding") {
  const Recipe recipe = recipe_of({Resize{.size = {8, 8}}});
  Scratch scratch;
  std::vector<std::byte> pixels(8 * 8 * 3);
  const Placer placer = [&](std::size_t, Size) { return Placement{pixels.data(), 24, 3, 1}; };
  load_sample(placer, recipe, 0, {.sample = 0}, scratch);
  REQUIRE(scratch.timer.times().decode_ns > 0);  // from an earlier image
  load_sample([](std::size_t, Size) { return Placement{}; }, recipe, 0, {.sample = 1}, scratch);
  CHECK(scratch.timer.times().bytes > 0);
  CHECK(scratch.timer.times().read_ns > 0);
  CHECK(scratch.timer.times().decode_ns == 0);
  CHECK(scratch.timer.times().augment_ns == 0);
}

TEST_CASE("decoding and augmenting share what is measured on one sample of many") {
  const Recipe recipe = recipe_of({Resize{.size = {8, 8}}});
  std::vector<std::byte> pixels(8 * 8 * 3);
  const Placer placer = [&](std::size_t, Size) { return Placement{pixels.data(), 24, 3, 1}; };
  Scratch scratch;
  std::uint64_t measured_ns = 0;
  constexpr std::uint64_t kEvery = SampleTimer::kMeasured;
  for (std::uint64_t i = 0; i < 2 * kEvery; ++i) {
    load_sample(placer, recipe, 0, {.sample = i % 4}, scratch);
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
  const Placer placer = [&](std::size_t, Size) { return Placement{pixels.data(), 24, 3, 1}; };
  Scratch scratch;
  std::array<const std::uint8_t*, 2> memory{};
  for (std::uint64_t i = 0; i < 4; ++i) {
    load_sample(placer, recipe, 0, {.sample = i}, scratch);
    std::array now = scratch.plan.images();
    std::sort(now.begin(), now.end());
    if (i < 2) memory = now;
    CHECK(memory == now);
  }
}

}  // namespace tundish
