// Delivery of batches with bad samples.
#include <doctest/doctest.h>

#include "loader/engine/testing.h"

namespace tundish {

TEST_CASE("a bad sample is replaced, left out or raised") {
  const auto source = std::make_shared<LevelSource>(20);
  source->bad = {3, 11};
  LoaderOptions wanted = options(2, 5);

  wanted.on_error = OnError::skip;
  Engine skipping(source, wanted);
  std::size_t delivered = 0;
  for (const Seen& seen : run_epoch(skipping, 0)) delivered += seen.samples.size();
  CHECK(delivered == 18);
  CHECK(skipping.stats().skipped == 2);
  CHECK(skipping.bad_samples().size() == 2);

  wanted.on_error = OnError::substitute;
  Engine replacing(source, wanted);
  const auto replaced = run_epoch(replacing, 0);
  delivered = 0;
  for (const Seen& seen : replaced) {
    delivered += seen.samples.size();
    for (const std::int64_t sample : seen.samples)
      CHECK_FALSE(source->bad.contains(static_cast<std::uint64_t>(sample)));
  }
  CHECK(delivered == 20);
  CHECK(replacing.stats().replaced == 2);
  Engine again(source, wanted);
  CHECK(run_epoch(again, 0) == replaced);

  wanted.on_error = OnError::fail;
  wanted.shuffle = false;
  Engine failing(source, wanted);
  failing.start(0, 0);
  Batch batch;
  CHECK_THROWS_AS(failing.next(batch, 20s), SampleError);
  REQUIRE(failing.next(batch, 20s) == Engine::Next::batch);  // still usable
  CHECK(batch.samples == std::vector<std::int64_t>{5, 6, 7, 8, 9});
}

TEST_CASE("a batch of which nothing is left does not come, unless other ranks have one") {
  const auto source = std::make_shared<LevelSource>(8);
  source->bad = {2, 3, 6, 7};
  LoaderOptions wanted = options(2, 2);
  wanted.shuffle = false;
  wanted.on_error = OnError::skip;
  Engine alone(source, wanted);
  const auto batches = run_epoch(alone, 0);
  REQUIRE(batches.size() == 2);
  CHECK(batches[0].samples == std::vector<std::int64_t>{0, 1});
  CHECK(batches[1].samples == std::vector<std::int64_t>{4, 5});
  CHECK(alone.stats().batches == 2);
  CHECK(alone.stats().skipped == 4);

  const auto other = std::make_shared<LevelSource>(8);  // threads may still read `source`
  other->bad = {2, 3};
  wanted.world_size = 2;
  wanted.rank = 1;
  Engine of_two(other, wanted);
  const auto both = run_epoch(of_two, 0);
  REQUIRE(both.size() == 2);
  CHECK(both[0].samples.empty());
  CHECK(both[1].samples == std::vector<std::int64_t>{6, 7});
}

TEST_CASE("when every sample is bad the loader throws and does not hang") {
  const auto source = std::make_shared<LevelSource>(4);
  source->bad = {0, 1, 2, 3};
  LoaderOptions wanted = options(2, 2);
  wanted.on_error = OnError::substitute;
  Engine engine(source, wanted);
  engine.start(0, 0);
  Batch batch;
  try {
    engine.next(batch, 20s);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::too_many_bad);
  }
}

}  // namespace tundish
