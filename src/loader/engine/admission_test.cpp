#include "loader/sample/admission.h"

#include <doctest/doctest.h>

#include "augment/transform.h"
#include "codec/decode/test_images.h"
#include "data/source/memory_source.h"
#include "loader/engine/engine.h"
#include "loader/memory/memory_plan.h"

namespace tundish {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kMiB = 1 << 20;

std::uint64_t held_bytes(Bytes file) {
  ImageHeader header;
  REQUIRE_FALSE(read_header(header, file).has_value());
  return header.held_bytes;
}

// Returns `count` pictures of side x side pixels, as .npy.
std::shared_ptr<MemorySource> pictures(std::uint64_t count, int side) {
  auto source = std::make_shared<MemorySource>();
  source->schema_.fields = {{"image", FieldType::image}, {"label", FieldType::label}};
  for (std::uint64_t i = 0; i < count; ++i) {
    Random random({.seed = 1, .sample = i}, 0);
    source->items.push_back({"a", 0, {npy_image(side, side, random), {}}});
  }
  return source;
}

LoaderOptions options(std::uint64_t budget, Transforms transforms) {
  LoaderOptions out;
  out.threads = 4;
  out.prefetch = 2;
  out.batch_size = 2;
  out.memory = budget;
  out.on_error = OnError::skip;
  out.transforms = std::move(transforms);
  return out;
}

struct Epoch {
  std::uint64_t images = 0;
  std::vector<BadSample> bad;
  LoaderStats stats;
};

Epoch run_epoch(Engine& engine) {
  Epoch out;
  engine.start(0, 0);
  Batch batch;
  while (engine.next(batch, 60s) == Engine::Next::batch) out.images += batch.count;
  out.bad = engine.bad_samples();
  out.stats = engine.stats();
  return out;
}

}  // namespace

TEST_CASE("a decoder holds nothing of a JPEG of one scan, and all of a progressive one") {
  CHECK(held_bytes(make_jpeg(64, 48, {})) == 0);
  const std::uint64_t held = held_bytes(make_jpeg(64, 48, {.progressive = true}));
  CHECK(held >= 64 * 48 * 3);  // 1.5 samples per pixel of 2 bytes each
  CHECK(held < 64 * 48 * 3 * 2);
  CHECK(held_bytes(
            make_jpeg(640, 480, {.h = {1, 1, 1, 1}, .v = {1, 1, 1, 1}, .progressive = true})) >=
        640 * 480 * 6);
}

TEST_CASE("a decoder holds all pixels of an interlaced PNG, and the inflated rows of another") {
  const auto held = [](int depth, int color, bool interlaced) {
    return held_bytes(png_file({png_ihdr(40, 30, depth, color, interlaced), png_idat({})}));
  };
  CHECK(held(8, 2, false) >= 30 * (1 + 40 * 3));  // each row has one byte for its filter
  CHECK(held(8, 2, false) < 2 * 40 * 30 * 3);
  CHECK(held(8, 2, true) == 40 * 30 * 3);
  CHECK(held(4, 3, true) == 40 * 30);
  CHECK(held(16, 0, true) == 40 * 30 * 2);
}

TEST_CASE("what a sample takes depends on the plan") {
  const ImageHeader header{.codec = Codec::jpeg, .width = 10'000, .height = 10'000};
  View small({10'000, 10'000});
  small.crop({100, 100, 300, 300});
  small.resize({224, 224}, Filter::bilinear);
  CHECK(sample_bytes({&small, 1}, header, 1, 0).total() < 4 * kMiB);
  CHECK(sample_bytes({&small, 1}, header, 6, 0).total() > 300'000'000);  // held whole to be rotated

  View two({10'000, 10'000});
  two.resize({5'000, 5'000}, Filter::bilinear);
  two.resize({100, 100}, Filter::bilinear);
  CHECK(sample_bytes({&two, 1}, header, 1, 0).between >= 75'000'000);

  View padded({10'000, 10'000});
  padded.crop({-10, -10, 10'020, 10'020});
  CHECK(sample_bytes({&padded, 1}, header, 1, 0).resample >= 300'000'000);
}

TEST_CASE("buffers never exceed their limit") {
  Random random({.seed = 5}, 0);
  for (int i = 0; i < 300; ++i) {
    CAPTURE(i);
    const Size image{1 + static_cast<int>(random.below(900)),
                     1 + static_cast<int>(random.below(900))};
    View view(image);
    const int x = static_cast<int>(random.below(60)) - 30,
              y = static_cast<int>(random.below(60)) - 30;
    if (random.below(2) == 0) {
      view.crop(
          {x, y, 1 + static_cast<int>(random.below(900)), 1 + static_cast<int>(random.below(900))},
          PadMode::edge);
    }
    view.resize({1 + static_cast<int>(random.below(500)), 1 + static_cast<int>(random.below(500))},
                static_cast<Filter>(random.below(3)));
    struct Nowhere : RowSink {
      void row(int, const std::uint8_t*, int, bool) override {}
    } nowhere;
    const ResizeStep& step = view.first();
    Resample resample;
    resample.begin(step, image, nowhere);
    CHECK(resample.held() > 0);
    CHECK(resample.held() <= Resample::bytes(step, image));
  }
}

TEST_CASE("a budget that cannot hold the batches is refused with the figures") {
  const auto source = pictures(8, 8);
  const auto text = [&](std::uint64_t budget) {
    try {
      Engine engine(source, options(budget, {Resize{.size = {1000, 1000}}}));
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::budget_too_small);
      return std::string(error.what());
    }
    return std::string();
  };
  // 4 batches of 2 x 3,000,000 bytes, 5 threads of 4 MiB, and the source.
  const std::uint64_t least = 24'000'000 + 20 * kMiB + source->memory();
  CHECK(text(least - 1).find("4 batches of 2 x 3,000,000 bytes") != std::string::npos);
  CHECK(text(least) == "");
}

TEST_CASE("samples wait for each other and all are delivered, within the budget") {
  // 12 MB of coded bytes each, in a budget with room for two or three at once.
  const auto source = pictures(12, 2000);
  const std::uint64_t budget = 60 * kMiB;
  Engine engine(source, options(budget, {Resize{.size = {32, 32}}}));
  const Epoch epoch = run_epoch(engine);
  CHECK(epoch.images == 12);
  CHECK(epoch.stats.memory_used <= budget);
  CHECK(epoch.stats.memory_used > 20 * kMiB);
}

TEST_CASE("a sample that can never fit is bad, with the figure, and the others are not") {
  auto source = pictures(4, 100);
  source->items[2] = pictures(1, 4000)->items[0];
  for (const bool known : {true, false}) {
    source->knows_sizes = known;
    Engine engine(source, options(40 * kMiB, {Resize{.size = {32, 32}}}));
    const Epoch epoch = run_epoch(engine);
    CHECK(epoch.images == 3);
    REQUIRE(epoch.bad.size() == 1);
    CHECK(epoch.bad[0].code == ErrorCode::over_budget);
    CHECK(epoch.bad[0].text.find("decoding it takes 4") != std::string::npos);
  }
}

TEST_CASE("batches whose size depends on the image are counted when they come") {
  auto source = pictures(4, 100);
  source->items[3] = pictures(1, 1500)->items[0];
  LoaderOptions one = options(40 * kMiB, {});
  one.batch_size = 1;
  Engine engine(source, one);
  const Epoch epoch = run_epoch(engine);
  CHECK(epoch.images == 3);
  REQUIRE(epoch.bad.size() == 1);
  CHECK(epoch.bad[0].code == ErrorCode::over_budget);
  CHECK(epoch.bad[0].text.find("1500 x 1500 pixels") != std::string::npos);
}

TEST_CASE("the batches are the same with a budget and without") {
  const auto source = std::make_shared<MemorySource>(image_source(30, 300));
  const auto pixels = [&](std::uint64_t budget) {
    LoaderOptions with = options(budget, {RandomResizedCrop{.size = {16, 16}}});
    with.shuffle = true;
    Engine engine(source, with);
    engine.start(0, 0);
    std::vector<std::vector<std::byte>> all;
    Batch batch;
    while (engine.next(batch, 60s) == Engine::Next::batch) {
      const std::byte* pixels = batch.views.front().pixels;
      all.emplace_back(pixels, pixels + batch.count * 3 * 16 * 16);
    }
    return all;
  };
  CHECK(pixels(0) == pixels(25 * kMiB));
}

TEST_CASE("buffers that have become large are released, and the batch keeps its position") {
  MemoryBudget budget(kMiB);
  Recipe recipe;
  recipe.memory = {.budget = &budget, .places = 1, .uncharged_limit = 1000};
  auto scratch = std::make_unique<Scratch>();
  scratch->age = 7;
  scratch->upright.resize(5000);
  scratch->kept.grow_to({.upright = 5000});
  CHECK(scratch->charge.take(budget, 5000, scratch->age) == MemoryBudget::Answer::granted);
  release_large_buffers(recipe, scratch);
  CHECK(scratch->upright.capacity() == 0);
  CHECK(scratch->charge.bytes() == 0);
  CHECK(budget.take(kMiB, 0) == MemoryBudget::Answer::granted);
  CHECK(scratch->age == 7);  // age 0 would be served before all others
}

TEST_CASE("a loader that is closed while samples wait ends") {
  const auto source = pictures(12, 2000);
  Engine engine(source, options(40 * kMiB, {Resize{.size = {32, 32}}}));
  engine.start(0, 0);
  CHECK(engine.end().empty());
}

}  // namespace tundish
