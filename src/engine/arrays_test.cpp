// Samples without an image: batches of arrays.
#include <doctest/doctest.h>

#include <cstring>

#include "engine/engine.h"
#include "engine/testing.h"
#include "source/memory_source.h"

namespace tundish {
namespace {

// Sample i has 3 x uint16 of i, i + 1, i + 2, and an array of 2 random bytes.
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

// All samples of an epoch, as the batches have them.
std::string epoch_of(const std::shared_ptr<MemorySource>& source, LoaderOptions options) {
  Engine engine(source, std::move(options));
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
  refused({.memory = 1u << 30}, "memory= and cache= are for images");
  refused({.for_gpu = true}, "leave device= out");
  source->schema_.fields[0].array.reset();
  source->schema_.fields[1].array.reset();
  refused({}, "no array that has one shape");
}

}  // namespace tundish
