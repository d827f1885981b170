#include "optim/worker_pool.h"

#include <doctest/doctest.h>

#include <atomic>
#include <vector>

namespace tundish::optim {
namespace {

// Returns true if every number was processed exactly once, in several rounds.
bool every_number_once(WorkerPool& pool) {
  for (const std::size_t count : {0u, 1u, 2u, 1000u, 3u}) {
    std::vector<std::atomic<int>> calls(count);
    pool.run(count, [&](std::size_t i) { ++calls[i]; });
    for (const auto& call : calls) {
      if (call != 1) return false;
    }
  }
  return true;
}

}  // namespace

TEST_CASE("a pool of threads calls every number once, round after round") {
  for (const unsigned threads : {0u, 1u, 2u, 5u}) {
    WorkerPool pool(threads);
    CHECK(pool.threads() >= 1);
    CHECK(every_number_once(pool));
    CHECK(every_number_once(pool));
  }
}

}  // namespace tundish::optim
