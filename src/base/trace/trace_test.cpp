#include "base/trace/trace.h"

#include <doctest/doctest.h>
#include <zlib.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.h"
#include "base/temporary_folder.h"

namespace tundish {
namespace {

// gzread also reads uncompressed files.
nlohmann::json read_json(const std::string& path) {
  const gzFile file = ::gzopen(path.c_str(), "rb");
  REQUIRE(file != nullptr);
  std::string text;
  char part[4096];
  for (int got; (got = ::gzread(file, part, sizeof part)) > 0;)
    text.append(part, static_cast<std::size_t>(got));
  ::gzclose(file);
  return nlohmann::json::parse(text);
}

std::vector<std::uint64_t> numbers(const nlohmann::json& trace, int track) {
  std::vector<std::uint64_t> out;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] == "X" && event["tid"] == track) out.push_back(event["args"]["number"]);
  }
  return out;
}

}  // namespace

TEST_CASE("a folder is refused as a trace before anything is recorded") {
  const TemporaryFolder folder;
  CHECK_THROWS_WITH_AS(Trace(folder / "", 1000, 1, "x", 0), doctest::Contains("a folder has this"),
                       Error);
}

TEST_CASE("a full track drops its oldest spans and counts them") {
  Track track("worker", 4);
  for (std::uint64_t i = 0; i < 10; ++i) {
    CHECK(track.dropped() == (i > 4 ? i - 4 : 0));
    const std::vector<Span> spans = track.spans();
    REQUIRE(spans.size() == std::min<std::uint64_t>(i, 4));
    for (std::size_t k = 0; k < spans.size(); ++k) CHECK(spans[k].number == i - spans.size() + k);
    track.add("source.read", i, 1, i);
  }
}

TEST_CASE("a trace that begins again has another file, the same tracks and no spans") {
  const TemporaryFolder folder;
  Trace trace(folder / "first.json", 6 * sizeof(Span), 2, "x", 0);
  Track& track = trace.track("worker 0");
  for (std::uint64_t i = 0; i < 5; ++i) track.add("decode.jpeg", i, 1, i);
  trace.write();
  CHECK_THROWS_AS(trace.begin_again(folder / ""), Error);
  CHECK(track.spans().size() == 3);
  trace.begin_again(folder / "second.json");
  CHECK(track.spans().empty());
  CHECK(track.dropped() == 0);
  CHECK(&trace.track("worker 0") == &track);
  CHECK(&trace.track("worker 1") != &track);
  track.add("decode.jpeg", 9, 1, 9);
  trace.write();
  CHECK(numbers(read_json(folder / "first.json"), 1) == std::vector<std::uint64_t>{2, 3, 4});
  CHECK(numbers(read_json(folder / "second.json"), 1) == std::vector<std::uint64_t>{9});
}

TEST_CASE("a trace is JSON, plain or compressed, with a track for each thread") {
  const TemporaryFolder folder;
  for (const char* name : {"trace.json", "trace.json.gz"}) {
    Trace trace(folder / name, 2 * 3 * sizeof(Span), 2, "rank 1 of \"2\"", 1);
    trace.track("trainer").add("engine.take", 1'234'567, 89'001, 7);
    Track& worker = trace.track("worker 0");
    for (std::uint64_t i = 0; i < 5; ++i) worker.add("decode.jpeg", i, 1, i);
    trace.write();
    trace.write();  // replaces the first file
    const nlohmann::json json = read_json(folder / name);
    CHECK(json["otherData"]["dropped_spans"] == 2);
    CHECK(numbers(json, 1) == std::vector<std::uint64_t>{7});
    CHECK(numbers(json, 2) == std::vector<std::uint64_t>{2, 3, 4});
    const nlohmann::json& events = json["traceEvents"];
    CHECK(events[0]["args"]["name"] == "rank 1 of \"2\"");
    CHECK(events[1]["args"]["name"] == "trainer");
    CHECK(events[2]["ts"] == 1234.567);
    CHECK(events[2]["dur"] == 89.001);
    CHECK(events[2]["pid"] == 1);
  }
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.path()))
    ++files;
  CHECK(files == 2);
}

TEST_CASE("a trace whose folder does not exist is refused at the start") {
  const TemporaryFolder folder;
  CHECK_THROWS_AS(Trace(folder / "no/such/trace.json", 1000, 1, "x", 0), Error);
}

TEST_CASE("a trace can be written while its threads run") {
  const TemporaryFolder folder;
  Trace trace(folder / "trace.json", std::size_t{1} << 16, 2, "x", 0);
  std::atomic<bool> stop{false};
  Track& track = trace.track("worker 0");
  std::thread worker([&] {
    for (std::uint64_t i = 0; !stop; ++i) track.add("source.read", i, 1, i);
  });
  while (track.spans().empty()) std::this_thread::yield();
  for (int i = 0; i < 5; ++i) {
    trace.write();
    const std::vector<std::uint64_t> seen = numbers(read_json(folder / "trace.json"), 1);
    CHECK_FALSE(seen.empty());
    for (std::size_t k = 1; k < seen.size(); ++k) CHECK(seen[k] == seen[k - 1] + 1);
  }
  stop = true;
  worker.join();
}

}  // namespace tundish
