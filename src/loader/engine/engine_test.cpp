#include "loader/engine/engine.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/temporary_folder.h"
#include "loader/engine/testing.h"

namespace tundish {

TEST_CASE("batches are bit-identical for any number of threads") {
  const auto source = std::make_shared<LevelSource>(50, 16);
  Engine one(source, options(1, 7));
  const auto expected = run_epoch(one, 2);
  CHECK(expected.size() == 8);
  for (const int threads : {2, 3, 8}) {
    Engine many(source, options(threads, 7));
    CHECK(run_epoch(many, 2) == expected);
  }
}

TEST_CASE("an epoch can be entered at any step") {
  const auto source = std::make_shared<LevelSource>(40);
  Engine whole(source, options(2, 4));
  const auto expected = run_epoch(whole, 1);
  for (std::size_t step = 0; step < expected.size(); ++step) {
    Engine part(source, options(2, 4));
    const auto rest = run_epoch(part, 1, step * 4);
    CHECK(rest ==
          std::vector<Seen>(expected.begin() + static_cast<std::ptrdiff_t>(step), expected.end()));
  }
}

TEST_CASE("the next epoch is prepared while the last one ends") {
  const auto source = std::make_shared<LevelSource>(8);
  Engine engine(source, options(2, 4));
  CHECK(run_epoch(engine, 0).size() == 2);
  const auto until = std::chrono::steady_clock::now() + 60s;
  while (engine.stats().ready_batches == 0 && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(1ms);
  CHECK(engine.stats().ready_batches > 0);
  const auto next = run_epoch(engine, 1);
  CHECK(next.size() == 2);
  for (const Seen& seen : next) CHECK(seen.epoch == 1);
}

TEST_CASE("the end of an epoch is returned until another epoch is started") {
  Engine engine(std::make_shared<LevelSource>(6), options(1, 4));
  run_epoch(engine, 0);
  Batch batch;
  CHECK(engine.next(batch, 20s) == Engine::Next::end);
  CHECK(engine.next(batch, 20s) == Engine::Next::end);
  Engine other(std::make_shared<LevelSource>(6), options(1, 4));
  CHECK(run_epoch(engine, 1) == run_epoch(other, 1));
}

TEST_CASE("images of unequal size give an error that names two of them") {
  const auto source = std::make_shared<LevelSource>(4);
  source->larger = {2};
  LoaderOptions wanted;
  wanted.batch_size = 4;
  wanted.threads = 3;
  Engine engine(source, wanted);
  engine.start(0, 0);
  Batch batch;
  try {
    engine.next(batch, 20s);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::unequal_sizes);
    CHECK(error.reason() == "record 0 gives 4 x 4 pixels, record 2 in the same batch 5 x 5");
  }
}

TEST_CASE("all fields come along when asked for") {
  LoaderOptions wanted = options(2, 3);
  wanted.all_fields = true;
  Engine engine(std::make_shared<LevelSource>(3), wanted);
  engine.start(0, 0);
  Batch batch;
  REQUIRE(engine.next(batch, 20s) == Engine::Next::batch);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto& fields = batch.slot->places[batch.places[i]].fields;
    CHECK(fields[0].empty());  // the batch has the image as pixels
    const auto& text = fields[2];
    CHECK(std::string(reinterpret_cast<const char*>(text.data()), text.size()) ==
          "sample" + std::to_string(batch.samples[i]));
  }
}

TEST_CASE("a batch in memory that was lent is the lender's once it is delivered") {
  const auto source = std::make_shared<LevelSource>(40, 16);
  constexpr std::size_t kBytes = 4 * 3 * 5 * 5;
  struct alignas(kHostAlignment) Piece {
    std::byte bytes[kBytes + 20];
  };
  std::vector<Piece> pieces(6);
  Engine engine(source, options(2, 4));
  CHECK_THROWS_AS(engine.lend(std::span(pieces[0].bytes).subspan(1)), Error);  // not aligned
  engine.lend(std::span(pieces[0].bytes).first(kBytes - 1));                   // too small
  for (Piece& piece : std::span(pieces).subspan(1)) engine.lend(piece.bytes);

  std::map<std::byte*, std::vector<std::byte>> delivered;  // lent pieces, as delivered
  const auto take = [&](std::uint64_t epoch, std::uint64_t position, int batches) {
    engine.start(epoch, position);
    for (int i = 0; i < batches; ++i) {
      Batch batch;
      REQUIRE(engine.next(batch, 20s) == Engine::Next::batch);
      const BatchView& view = batch.views.front();
      if (!view.lent) continue;
      CHECK(delivered.try_emplace(view.pixels, view.pixels, view.pixels + kBytes).second);
    }
  };
  take(0, 0, 1);
  CHECK(delivered.size() == 1);
  take(3, 20, 5);  // pieces of batches that were never delivered are reused
  // once the worker that fills such a batch is done.
  for (std::uint64_t epoch = 7; delivered.size() < 5 && epoch < 1'000; epoch += 2) {
    take(epoch, 0, 10);
    std::this_thread::sleep_for(1ms);
  }
  CHECK(delivered.size() == 5);
  CHECK_FALSE(delivered.contains(pieces[0].bytes));
  REQUIRE(engine.end().empty());
  for (const auto& [at, bytes] : delivered) CHECK(std::equal(bytes.begin(), bytes.end(), at));

  Engine own(source, options(2, 4));
  const auto expected = run_epoch(own, 0);
  CHECK(std::any_of(delivered.begin(), delivered.end(),
                    [&](const auto& one) { return one.second == expected[0].pixels; }));
}

TEST_CASE("an engine ends within a second although a read is stuck, and names the record") {
  std::atomic<bool> stuck{true};
  const auto source = std::make_shared<LevelSource>(9);
  source->stuck = &stuck;
  const auto begin = std::chrono::steady_clock::now();
  {
    Engine engine(source, options(2, 3));
    engine.start(0, 0);
    Batch batch;
    CHECK(engine.next(batch, 10ms) == Engine::Next::again);
    while (source->reads < 2) std::this_thread::sleep_for(1ms);
    std::vector<std::string> hanging;
    while (hanging.size() < 2) {
      for (std::string& one : engine.hanging(1ms)) hanging.push_back(std::move(one));
      std::this_thread::sleep_for(1ms);
    }
    for (const std::string& one : hanging) {
      CHECK(one.starts_with("reading record "));
      CHECK(one.find(" of memory for ") != std::string::npos);
    }
    CHECK(engine.hanging(1ms).empty());
    CHECK(engine.hanging(1h).empty());
    const std::vector<std::string> left = engine.end();
    CHECK(left.size() == 2);
    for (const std::string& place : left) CHECK(place.starts_with("reading record "));
  }
  const auto took = std::chrono::steady_clock::now() - begin;
  stuck = false;
  CHECK(took < 60s);  // no timed bound: a hang would be endless
  while (source.use_count() > 1) std::this_thread::sleep_for(1ms);  // the stuck threads release it
}

TEST_CASE("statistics are sums over the threads, and a reset begins a new window") {
  Engine engine(std::make_shared<LevelSource>(200, 16), options(3, 4));
  CHECK(engine.stats().elapsed_s == 0);
  run_epoch(engine, 0);
  const LoaderStats first = engine.stats();
  CHECK(first.batches == 50);
  CHECK(first.samples == 200);
  CHECK(first.threads == 3);
  CHECK(first.read_s > 0);
  CHECK(first.decode_s > 0);
  CHECK(first.augment_s > 0);
  CHECK(first.read_s + first.decode_s + first.augment_s <= 3 * first.elapsed_s);
  CHECK(first.bytes >= 200 * 16 * 16);
  CHECK(first.wait_s <= first.elapsed_s);
  CHECK(first.wait_p50_s <= first.wait_p99_s);
  CHECK(first.wait_p99_s > 0);
  const double shares = first.read_busy + first.decode_busy + first.augment_busy;
  CHECK(shares > 0);
  CHECK(shares <= 1);
  CHECK(first.wait_share <= 1);

  engine.new_window();
  CHECK(engine.stats().decode_s >= first.decode_s);  // sums are never reset
  CHECK(engine.stats().wait_share == 0);             // no wait in this window
  CHECK(engine.stats().wait_p99_s == 0);
  run_epoch(engine, 1);
  CHECK(engine.stats().samples == 400);
  CHECK(engine.stats().wait_p99_s > 0);
}

TEST_CASE("a trace has a track for the trainer and for each worker") {
  const TemporaryFolder folder;
  LoaderOptions wanted = options(2, 5);
  wanted.trace = folder / "trace.json";
  const auto source = std::make_shared<LevelSource>(20);
  source->bad = {3};
  Engine engine(source, wanted);
  run_epoch(engine, 0);
  REQUIRE(engine.end().empty());
  engine.write_trace();
  std::map<std::string, int> spans;
  std::set<std::string> tracks;
  std::ifstream file(wanted.trace);
  const nlohmann::json trace = nlohmann::json::parse(file);
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] == "X") ++spans[event["name"]];
    if (event["name"] == "thread_name") tracks.insert(event["args"]["name"]);
  }
  CHECK(tracks == std::set<std::string>{"trainer", "worker 0", "worker 1"});
  CHECK(spans["source.read"] >= 19);
  CHECK(spans["decode.npy"] == spans["source.read"]);
  CHECK(spans["augment.resample"] == spans["source.read"]);
  CHECK(spans["sample.bad"] >= 1);
  CHECK(spans["engine.take"] == 4);
  CHECK(spans["engine.deliver"] == 4);
}

TEST_CASE("a trace begins and ends while the threads run") {
  const TemporaryFolder folder;
  Engine engine(std::make_shared<LevelSource>(40), options(3, 5));
  const auto spans_of = [&](const std::string& name) {
    std::map<std::string, int> spans;
    std::ifstream file(folder / name);
    const nlohmann::json trace = nlohmann::json::parse(file);
    for (const auto& event : trace["traceEvents"]) {
      if (event["ph"] == "X") ++spans[event["name"]];
    }
    return spans;
  };
  engine.write_trace();  // nothing recorded
  std::atomic<bool> over = false;
  std::thread other([&] {
    for (int i = 0; !over; ++i) engine.trace_to(i % 2 == 0 ? folder / "any.json" : "");
  });
  for (std::uint64_t epoch = 0; epoch < 50; ++epoch) run_epoch(engine, epoch);
  over = true;
  other.join();
  engine.trace_to(folder / "begun.json");
  run_epoch(engine, 50);
  engine.trace_to("");
  run_epoch(engine, 51);
  engine.write_trace();
  std::map<std::string, int> spans = spans_of("begun.json");
  CHECK(spans["engine.deliver"] == 8);
  CHECK(spans["decode.npy"] > 0);
  engine.set_threads(5);  // adds two threads while nothing is recorded
  engine.trace_to(folder / "again.json");
  run_epoch(engine, 52);
  REQUIRE(engine.end().empty());
  engine.write_trace();
  CHECK(spans_of("again.json")["engine.deliver"] == 8);
  CHECK_THROWS_AS(engine.trace_to(folder / ""), Error);
}

TEST_CASE("options that contradict the data are refused with the reason") {
  const auto refused = [](LoaderOptions wanted) {
    try {
      Engine engine(std::make_shared<LevelSource>(5), std::move(wanted));
      return std::string("accepted");
    } catch (const Error& error) {
      return error.reason();
    }
  };
  CHECK(refused({.batch_size = 0}) ==
        "batch_size must be a whole number from 1 to 2147483647, not 0");
  CHECK(refused({.rank = 2, .world_size = 2}) == "rank 2 does not exist in a world of 2");
  CHECK(refused({.for_gpu = true, .decode = DecodeOn::cpu, .resident = true})
            .starts_with("resident=True contradicts"));
  CHECK(refused({.decode = DecodeOn::gpu}).starts_with("decode=\"gpu\" and resident=True need"));
  CHECK(refused({.on_error = OnError::fail, .max_bad = 0.1}).starts_with("max_bad has no meaning"));
  CHECK(refused({.labels = {1, 2}}) == "2 labels for 5 samples");
}

}  // namespace tundish
