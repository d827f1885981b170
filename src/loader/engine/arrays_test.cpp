// Samples without an image: batches of arrays.
#include <doctest/doctest.h>

#include <cstring>

#include "data/source/memory_source.h"
#include "loader/engine/engine.h"
#include "loader/engine/testing.h"

namespace tundish {
namespace {

// Sample i has the uint16 numbers i, i + 1, i + 2, and an array of 2 random bytes.
std::shared_ptr<MemorySource> array_source(std::uint64_t count) {
  auto source = std::make_shared<MemorySource>();
  source->schema_.fields = {{"x", FieldType::array, ArrayType{ArrayElement::uint16, {3}}},
                            {"y", FieldType::array, ArrayType{ArrayElement::uint8, {2, 1}}},
                            {"label", FieldType::label}};
  Random random({.seed = 3}, 0);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::vector<std::byte> x(6);
    for (std::size_t k = 0; k < 3; ++k) store(&x[2 * k], static_cast<std::uint16_t>(i + k));
    source->items.push_back(
        {std::to_string(i), static_cast<std::int64_t>(i % 5), {x, random_bytes(2, random), {}}});
  }
  return source;
}

// Returns all samples of an epoch, as delivered in batches.
std::string epoch_of(const std::shared_ptr<MemorySource>& source, Engine& engine) {
  engine.start(0, 0);
  std::string out;
  Batch batch;
  for (Engine::Next next; (next = engine.next(batch, 10s)) != Engine::Next::end;) {
    REQUIRE(next == Engine::Next::batch);
    REQUIRE(batch.views.size() == 2);
    REQUIRE(batch.views[0].array->element == ArrayElement::uint16);
    for (std::size_t i = 0; i < batch.places.size(); ++i) {
      const auto sample = static_cast<std::size_t>(batch.samples[i]);
      const auto& fields = source->items[sample].fields;
      REQUIRE(std::memcmp(batch.views[0].pixels + 6 * i, fields[0].data(), 6) == 0);
      REQUIRE(std::memcmp(batch.views[1].pixels + 2 * i, fields[1].data(), 2) == 0);
      REQUIRE(batch.labels[i] == source->items[sample].label);
      out += std::to_string(sample) + ' ';
    }
    out += "| ";
  }
  return out;
}

std::string epoch_of(const std::shared_ptr<MemorySource>& source, LoaderOptions options) {
  Engine engine(source, std::move(options));
  return epoch_of(source, engine);
}

}  // namespace

TEST_CASE("arrays come in batches, the same for any number of threads") {
  const auto source = array_source(50);
  LoaderOptions options{.batch_size = 8, .shuffle = true, .seed = 4};
  options.threads = 1;
  const std::string expected = epoch_of(source, options);
  CHECK(std::count(expected.begin(), expected.end(), '|') == 7);
  for (const int threads : {2, 4}) {
    options.threads = threads;
    CHECK(epoch_of(source, options) == expected);
  }
}

TEST_CASE("arrays with a budget, a cache or a GPU are those without, and read once") {
  const auto source = array_source(50);
  LoaderOptions options{.batch_size = 8, .shuffle = true, .seed = 4};
  options.threads = 3;
  const std::string expected = epoch_of(source, options);
  options.for_gpu = true;
  CHECK(epoch_of(source, options) == expected);
  options.for_gpu = false;
  options.memory = 32u << 20;
  CHECK(epoch_of(source, options) == expected);
  for (const CacheKind kind : {CacheKind::encoded, CacheKind::decoded, CacheKind::automatic}) {
    options.cache = kind;
    Engine engine(source, options);
    CHECK(epoch_of(source, engine) == expected);
    CHECK(epoch_of(source, engine) == expected);
    const LoaderStats stats = engine.stats();
    CHECK(stats.cache_misses >= 50);
    CHECK(stats.cache_hits + stats.cache_misses >= 100);
    CHECK(stats.cache_needed == 50 * kPageBytes);
    CHECK(stats.cache_bytes == stats.cache_needed);
    CHECK(stats.memory_used <= stats.memory);
  }
}

TEST_CASE("other fields of arrays come out of a cache, and are not stored twice") {
  const auto source = array_source(6);
  source->schema_.fields.push_back({"note", FieldType::text});
  for (auto& item : source->items) item.fields.push_back(bytes_of("note " + item.key));
  LoaderOptions options{.batch_size = 6, .all_fields = true};
  options.threads = 2;
  options.memory = 32u << 20;
  options.cache = CacheKind::encoded;
  Engine engine(source, options);
  for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
    engine.start(epoch, 0);
    Batch batch;
    REQUIRE(engine.next(batch, 10s) == Engine::Next::batch);
    for (std::size_t i = 0; i < 6; ++i) {
      const auto& fields = batch.slot->places[batch.places[i]].fields;
      CHECK(fields[0].empty());
      CHECK(fields[1].empty());
      CHECK(fields[3] == bytes_of("note " + std::to_string(i)));
      CHECK(std::memcmp(batch.views[0].pixels + 6 * i, source->items[i].fields[0].data(), 6) == 0);
    }
  }
  CHECK(engine.stats().cache_hits >= 6);
}

TEST_CASE("a budget that cannot hold the batches of arrays is refused") {
  const auto source = array_source(5000);
  LoaderOptions options{.batch_size = 5000, .memory = 8u << 20};
  options.threads = 1;
  source->schema_.fields[0].array->shape = {3000};
  CHECK_THROWS_WITH_AS(Engine(source, options), doctest::Contains("5,000 x 6,002 bytes"), Error);
}

TEST_CASE("bad arrays are left out, the others move up") {
  const auto source = array_source(20);
  source->items[3].fields[0].pop_back();
  source->items[11].fails = ErrorCode::io_read;
  LoaderOptions options{.batch_size = 10};
  options.threads = 3;
  CHECK(epoch_of(source, options) == "0 1 2 4 5 6 7 8 9 | 10 12 13 14 15 16 17 18 19 | ");
}

TEST_CASE("what is for images is refused where there are none, with the reason") {
  const auto source = array_source(4);
  const auto refused = [&](const LoaderOptions& options, const char* why) {
    CHECK_THROWS_WITH_AS(Engine(source, options), doctest::Contains(why), Error);
  };
  refused({.transforms = {std::vector<Transform>{RandomHorizontalFlip{}}}}, "transforms need one");
  refused({.mode = ImageMode::l}, "mode= is for images");
  refused({.return_sizes = true}, "return_sizes= is for images");
  refused({.for_gpu = true, .decode = DecodeOn::gpu}, "the samples are arrays, of which nothing");
  source->schema_.fields[0].array.reset();
  source->schema_.fields[1].array.reset();
  refused({}, "no array that has one shape");
}

}  // namespace tundish
