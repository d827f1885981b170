#include "loader/monitor/watchdog.h"

#include <doctest/doctest.h>

#include "data/source/formats/joined.h"
#include "data/source/memory_source.h"

namespace tundish {

TEST_CASE("a hanging thread is reported once, with activity, record, file and seconds") {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  const MemorySource source;
  std::deque<WorkerStatus> workers(4);
  const auto set = [&](std::size_t i, WorkerStatus::Activity activity, std::uint64_t sample,
                       std::uint64_t since) {
    workers[i].activity = activity;
    workers[i].sample = sample;
    workers[i].since_ns = since * kSecond;
  };
  const auto ask = [&](std::uint64_t now) {
    return hanging(workers, source, 0, now * kSecond, 30 * kSecond);
  };
  set(0, WorkerStatus::Activity::reading, 1234, 100);
  set(1, WorkerStatus::Activity::decoding, 7, 105);
  set(2, WorkerStatus::Activity::waiting, 7, 1);
  set(3, WorkerStatus::Activity::ended, 7, 1);
  CHECK(ask(129).empty());
  const std::string path = source.path();
  CHECK(ask(131) == std::vector<std::string>{"reading record 1,234 of " + path + " for 31 s"});
  CHECK(ask(136) == std::vector<std::string>{"decoding record 7 of " + path + " for 31 s"});
  CHECK(ask(500).empty());
  set(0, WorkerStatus::Activity::reading, 1234, 600);  // reads the same record again
  CHECK(ask(629).empty());
  CHECK(ask(630).size() == 1);
}

TEST_CASE("the status of a thread names the file that holds the record") {
  struct InFile : MemorySource {
    bool extent(std::uint64_t i, int, Extent& out) const override {
      out = {.file = "b.tnd", .offset = 1000 * i, .bytes = 10};
      return true;
    }
  };
  const auto first = std::make_shared<MemorySource>(image_source(3, 4));
  const auto second = std::make_shared<InFile>();
  static_cast<MemorySource&>(*second) = image_source(9, 4);
  const auto joined = join_sources({first, second});
  WorkerStatus status;
  CHECK(describe(status, *joined, 0) == "between two records");
  status.sample = 2;
  status.activity = WorkerStatus::Activity::decoding;
  CHECK(describe(status, *joined, 0) == "decoding record 2 of memory");
  status.sample = 3 + 7;
  status.activity = WorkerStatus::Activity::reading;
  CHECK(describe(status, *joined, 0) == "reading record 7 of b.tnd (at byte 7,000)");
}

}  // namespace tundish
