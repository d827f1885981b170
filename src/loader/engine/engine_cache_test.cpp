#include "loader/engine/engine_cache.h"

#include <doctest/doctest.h>

#include "augment/transform.h"
#include "codec/decode/test_images.h"
#include "data/source/memory_source.h"

namespace tundish {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kMiB = 1 << 20;

// Small arrays, and progressive JPEGs that are held whole. The JPEGs are charged and take their
// memory from the cache.
std::shared_ptr<MemorySource> pictures(std::uint64_t small, std::uint64_t large) {
  auto source = std::make_shared<MemorySource>();
  source->schema_.fields = {{"image", FieldType::image}, {"label", FieldType::label}};
  for (std::uint64_t i = 0; i < small; ++i) {
    Random random({.seed = 1, .sample = i}, 0);
    const int side = static_cast<int>(100 + 7 * i);
    source->items.push_back({"a", 0, {npy_image(side, side, random), {}}});
  }
  for (std::uint64_t i = 0; i < large; ++i) {
    const int side = static_cast<int>(900 + i);
    source->items.push_back({"b", 0, {make_jpeg(side, side, {.progressive = true}), {}}});
  }
  return source;
}

LoaderOptions options(CacheKind kind, std::uint64_t budget) {
  LoaderOptions out;
  out.threads = 4;
  out.prefetch = 2;
  out.batch_size = 3;
  out.shuffle = true;
  out.seed = 2;
  out.memory = budget;
  out.cache = kind;
  out.transforms = {RandomResizedCrop{.size = {8, 8}}};
  return out;
}

using Pixels = std::vector<std::vector<std::byte>>;

Pixels run(Engine& engine, std::uint64_t epoch, std::uint64_t position, std::uint64_t most = 99) {
  Pixels out;
  Batch batch;
  engine.start(epoch, position);
  while (out.size() < most && engine.next(batch, 60s) == Engine::Next::batch) {
    const std::byte* pixels = batch.views.front().pixels;
    out.push_back({pixels, pixels + std::size_t{batch.count} * 8 * 8 * 3});
  }
  return out;
}

}  // namespace

TEST_CASE("batches are the same with a cache that is shrunk again and again, also after jumps") {
  const auto source = pictures(20, 5);
  Engine plain(source, options(CacheKind::none, 0));
  for (const CacheKind kind : {CacheKind::encoded, CacheKind::decoded}) {
    Engine engine(source, options(kind, 25 * kMiB));
    for (std::uint64_t epoch = 0; epoch < 3; ++epoch)
      CHECK(run(engine, epoch, 0) == run(plain, epoch, 0));
    CHECK(run(engine, 7, 4, 2) == run(plain, 7, 4, 2));
    CHECK(run(engine, 1, 11) == run(plain, 1, 11));
    CHECK(run(engine, 2, 0) == run(plain, 2, 0));
    const LoaderStats stats = engine.stats();
    CHECK(stats.bad == 0);
    CHECK(stats.cache_hits > 0);
    CHECK(stats.cache_bytes <= stats.cache_room);
    CHECK(stats.memory_used <= stats.memory);
  }
}

TEST_CASE("a sample fits with a cache when it fits without, but for the cache's tables") {
  const auto source = pictures(20, 2);
  LoaderOptions tight = options(CacheKind::none, 0);
  tight.threads = 1;
  for (std::uint64_t budget = 10 * kMiB; budget <= 14 * kMiB; budget += kMiB / 2) {
    tight.memory = budget;
    tight.cache = CacheKind::none;
    Engine without(source, tight);
    tight.cache = CacheKind::encoded;
    tight.memory += cache_table_bytes(source->count(), budget + kMiB / 4);
    Engine with(source, tight);
    const Pixels expected = run(without, 0, 0);
    CHECK(run(with, 0, 0) == expected);
    CHECK(with.stats().skipped == without.stats().skipped);
  }
}

TEST_CASE("a sample that waits for memory holds no pages of a failed attempt") {
  // Sample 0 is decoded into the cache, but its array cannot be loaded. Its replacement needs
  // nearly all of the memory, including the cache's pages.
  auto source = std::make_shared<MemorySource>();
  source->schema_.fields = {
      {"image", FieldType::image}, {"label", FieldType::label}, {"a", FieldType::array}};
  Random random({.seed = 1}, 0);
  source->items.push_back({"bad", 0, {npy_image(1000, 1000, random), {}, bytes_of("no array")}});
  source->items.push_back({"large", 0, {npy_image(2000, 2000, random), {}, {}}});
  LoaderOptions options;
  options.threads = 1;
  options.prefetch = 1;
  options.memory = 22 * kMiB;
  options.cache = CacheKind::decoded;
  options.all_fields = true;
  options.on_error = OnError::substitute;
  options.transforms = {Resize{.size = {8, 8}}};
  Engine engine(source, options);
  Batch batch;
  engine.start(0, 0);
  REQUIRE(engine.next(batch, 60s) == Engine::Next::batch);
  CHECK(batch.samples == std::vector<std::int64_t>{1});
  CHECK(engine.stats().bad > 0);
}

TEST_CASE("a cache without a budget is refused") {
  CHECK_THROWS_AS(Engine(pictures(2, 0), options(CacheKind::encoded, 0)), Error);
}

}  // namespace tundish
