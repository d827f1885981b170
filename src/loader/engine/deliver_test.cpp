// Images that a GPU could not decode, found after delivery: Engine::record_zeros().
#include <doctest/doctest.h>

#include "augment/transform.h"
#include "data/source/memory_source.h"
#include "loader/engine/engine.h"

namespace tundish {
namespace {

using namespace std::chrono_literals;

Engine engine_of(std::uint64_t samples, OnError on_error, std::optional<double> max_bad = {}) {
  LoaderOptions options;
  options.threads = 1;
  options.batch_size = 4;
  options.on_error = on_error;
  options.max_bad = max_bad;
  options.transforms = {Resize{.size = {4, 4}}};
  return {std::make_shared<MemorySource>(image_source(samples, 8)), options};
}

// Reports a sample that a GPU could not decode, as a training loop does.
void report_zeros(Engine& engine, std::uint64_t sample, bool wanted = true) {
  const SampleError error(ErrorCode::image_damaged, {.file = "memory", .record = sample},
                          "planted");
  engine.record_zeros(sample, 0, sample, error, wanted);
}

void take(Engine& engine, int batches) {
  Batch batch;
  for (int i = 0; i < batches; ++i) REQUIRE(engine.next(batch, 60s) == Engine::Next::batch);
}

}  // namespace

TEST_CASE("an image of zeros is listed and counted, and nothing is raised") {
  for (const OnError on_error : {OnError::skip, OnError::substitute}) {
    Engine engine = engine_of(8, on_error);
    engine.start(0, 0);
    take(engine, 2);
    report_zeros(engine, 5);
    Batch batch;
    CHECK(engine.next(batch, 60s) == Engine::Next::end);
    const LoaderStats stats = engine.stats();
    CHECK(stats.samples + stats.skipped == 8);
    CHECK(stats.zeros == 1);
    CHECK(stats.bad == 1);
    REQUIRE(engine.bad_samples().size() == 1);
    const BadSample bad = engine.bad_samples().front();
    CHECK(bad.sample == 5);
    CHECK(bad.position == 5);
    CHECK(bad.delivered == Delivered::zeros);
    CHECK(bad.reason == "planted");
    CHECK(bad.text.find("memory: record 5") != std::string::npos);
  }
}

TEST_CASE("an image of zeros is raised when bad samples fail, unless its iteration was left") {
  Engine engine = engine_of(8, OnError::fail);
  engine.start(0, 0);
  take(engine, 1);
  CHECK_THROWS_AS(report_zeros(engine, 1), SampleError);
  report_zeros(engine, 2, false);
  CHECK(engine.stats().zeros == 2);
  CHECK(engine.bad_samples().size() == 2);
  take(engine, 1);  // still usable
}

TEST_CASE("images of zeros count against max_bad, also after the last batch of an epoch") {
  Engine engine = engine_of(8, OnError::skip, 0.2);
  engine.start(0, 0);
  take(engine, 2);
  report_zeros(engine, 1);
  Batch batch;
  CHECK(engine.next(batch, 60s) == Engine::Next::end);
  report_zeros(engine, 6);
  try {
    engine.next(batch, 60s);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::too_many_bad);
    CHECK(std::string(error.what()).find("2 of 8 samples are bad") != std::string::npos);
  }
  CHECK(engine.next(batch, 60s) == Engine::Next::end);
}

TEST_CASE("an epoch of zeros is an error") {
  Engine engine = engine_of(4, OnError::skip);
  engine.start(0, 0);
  take(engine, 1);
  for (std::uint64_t sample = 0; sample < 3; ++sample) report_zeros(engine, sample);
  CHECK_THROWS_AS(report_zeros(engine, 3), Error);
}

}  // namespace tundish
