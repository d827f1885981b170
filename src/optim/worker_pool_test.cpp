#include "optim/worker_pool.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <vector>

namespace tundish::optim {
namespace {

// Every number was called once, in several rounds.
bool every_number_once(WorkerPool& pool) {
  for (const std::size_t count : {0, 1, 2, 1000, 3}) {
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

TEST_CASE("a forked child has threads of its own") {
  WorkerPool pool(3);
  CHECK(every_number_once(pool));
  const pid_t child = ::fork();
  if (child == 0) {
    const bool good = every_number_once(pool);
    ::_exit(good ? 0 : 1);
  }
  int status = -1;
  CHECK(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(every_number_once(pool));
}

}  // namespace tundish::optim
