#include "engine/engine.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "core/temporary_folder.h"

namespace tundish {
namespace {

using namespace std::chrono_literals;

// Samples in memory: sample i is a .npy image of `side` x `side` pixels of level i % 256.
class MemorySource : public Source {
 public:
  explicit MemorySource(std::uint64_t count, int side = 4) : count_(count), side_(side) {
    schema_.fields = {
        {"image", FieldType::image}, {"label", FieldType::label}, {"name", FieldType::text}};
  }

  std::set<std::uint64_t> bad;         // these throw
  std::set<std::uint64_t> larger;      // these have another size
  std::atomic<bool>* stuck = nullptr;  // reads wait as long as it is true
  mutable std::atomic<int> reads{0};   // begun

  std::uint64_t count() const override { return count_; }
  const Schema& schema() const override { return schema_; }
  SampleInfo info(std::uint64_t i) const override {
    return {.label = static_cast<std::int64_t>(i % 10)};
  }
  std::string key(std::uint64_t i) const override { return "sample" + std::to_string(i); }
  std::string path() const override { return "memory"; }
  std::uint64_t bytes(std::uint64_t) const override { return 0; }
  bool sizes_known() const override { return false; }
  std::string fingerprint() const override { return "memory" + std::to_string(count_); }
  void read(Sample& out, std::uint64_t i, FieldSet fields) const override {
    ++reads;
    while (stuck && *stuck) std::this_thread::sleep_for(1ms);
    if (bad.contains(i))
      throw SampleError(ErrorCode::record_checksum, {.file = "memory", .record = i}, "planted");
    const int side = larger.contains(i) ? side_ + 1 : side_;
    std::string header = "{'descr': '|u1', 'fortran_order': False, 'shape': (" +
                         std::to_string(side) + ", " + std::to_string(side) + "), }";
    header.resize(117, ' ');
    header += '\n';
    std::string file = std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size()) +
                       '\0' + header +
                       std::string(static_cast<std::size_t>(side) * static_cast<std::size_t>(side),
                                   static_cast<char>(i % 256));
    out.fields.assign(3, {});
    out.fields[0].resize(file.size());
    std::memcpy(out.fields[0].data(), file.data(), file.size());
    if (fields & 4) {
      const std::string name = key(i);
      out.fields[2].resize(name.size());
      std::memcpy(out.fields[2].data(), name.data(), name.size());
    }
  }

 private:
  std::uint64_t count_;
  int side_;
  Schema schema_;
};

struct Seen {
  std::uint64_t epoch;
  std::vector<std::int64_t> samples;
  std::vector<std::byte> pixels;
  bool operator==(const Seen&) const = default;
};

std::vector<Seen> run_epoch(Engine& engine, std::uint64_t epoch, std::uint64_t position = 0) {
  engine.start(epoch, position);
  std::vector<Seen> all;
  for (;;) {
    Batch batch;
    const Engine::Next next = engine.next(batch, 20s);
    if (next == Engine::Next::end) return all;
    REQUIRE(next == Engine::Next::batch);
    const std::size_t bytes = batch.count * 3 *
                              static_cast<std::size_t>(batch.size.width * batch.size.height) *
                              dtype_bytes(batch.dtype);
    all.push_back({batch.epoch, batch.samples, {batch.pixels, batch.pixels + bytes}});
  }
}

LoaderOptions options(int threads, std::uint32_t batch_size) {
  LoaderOptions out;
  out.threads = threads;
  out.batch_size = batch_size;
  out.shuffle = true;
  out.seed = 3;
  out.transforms = {RandomResizedCrop{.size = {5, 5}}, RandomHorizontalFlip{}};
  return out;
}

}  // namespace

TEST_CASE("batches are bit-identical for any number of threads") {
  const auto source = std::make_shared<MemorySource>(50, 16);
  Engine one(source, options(1, 7));
  const auto expected = run_epoch(one, 2);
  CHECK(expected.size() == 8);
  for (const int threads : {2, 3, 8}) {
    Engine many(source, options(threads, 7));
    CHECK(run_epoch(many, 2) == expected);
  }
}

TEST_CASE("an epoch can be entered at any step") {
  const auto source = std::make_shared<MemorySource>(40);
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
  const auto source = std::make_shared<MemorySource>(8);
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
  Engine engine(std::make_shared<MemorySource>(6), options(1, 4));
  run_epoch(engine, 0);
  Batch batch;
  CHECK(engine.next(batch, 20s) == Engine::Next::end);
  CHECK(engine.next(batch, 20s) == Engine::Next::end);
  Engine other(std::make_shared<MemorySource>(6), options(1, 4));
  CHECK(run_epoch(engine, 1) == run_epoch(other, 1));
}

TEST_CASE("a bad sample is replaced, left out or raised") {
  const auto source = std::make_shared<MemorySource>(20);
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
  const auto source = std::make_shared<MemorySource>(8);
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

  source->bad = {2, 3};
  wanted.world_size = 2;
  wanted.rank = 1;
  Engine of_two(source, wanted);
  const auto both = run_epoch(of_two, 0);
  REQUIRE(both.size() == 2);
  CHECK(both[0].samples.empty());
  CHECK(both[1].samples == std::vector<std::int64_t>{6, 7});
}

TEST_CASE("when every sample is bad the loader throws and does not hang") {
  const auto source = std::make_shared<MemorySource>(4);
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

TEST_CASE("images of unequal size give an error that names two of them") {
  const auto source = std::make_shared<MemorySource>(4);
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
  Engine engine(std::make_shared<MemorySource>(3), wanted);
  engine.start(0, 0);
  Batch batch;
  REQUIRE(engine.next(batch, 20s) == Engine::Next::batch);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto& fields = batch.slot->places[batch.places[i]].fields;
    CHECK(fields[0].empty());  // the image is in the batch as pixels
    const auto& text = fields[2];
    CHECK(std::string(reinterpret_cast<const char*>(text.data()), text.size()) ==
          "sample" + std::to_string(batch.samples[i]));
  }
}

TEST_CASE("a batch in memory that was lent is the lender's once it is delivered") {
  const auto source = std::make_shared<MemorySource>(40, 16);
  constexpr std::size_t kBytes = 4 * 3 * 5 * 5;
  struct alignas(kHostAlignment) Piece {
    std::byte bytes[kBytes + 20];
  };
  std::vector<Piece> pieces(6);
  Engine engine(source, options(2, 4));
  CHECK_THROWS_AS(engine.lend(std::span(pieces[0].bytes).subspan(1)), Error);  // not aligned
  engine.lend(std::span(pieces[0].bytes).first(kBytes - 1));                   // too small
  for (Piece& piece : std::span(pieces).subspan(1)) engine.lend(piece.bytes);

  std::map<std::byte*, std::vector<std::byte>> delivered;  // lent pieces, as they came back
  const auto take = [&](std::uint64_t epoch, std::uint64_t position, int batches) {
    engine.start(epoch, position);
    for (int i = 0; i < batches; ++i) {
      Batch batch;
      REQUIRE(engine.next(batch, 20s) == Engine::Next::batch);
      if (!batch.lent) continue;
      CHECK(delivered.try_emplace(batch.pixels, batch.pixels, batch.pixels + kBytes).second);
    }
  };
  take(0, 0, 1);
  CHECK(delivered.size() == 1);
  take(3, 20, 5);  // pieces of batches that were not taken are used again,
  // when the worker that still fills such a batch is done.
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
  const auto source = std::make_shared<MemorySource>(9);
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
  CHECK(took < 60s);  // no timed bar: a hang would be endless
  while (source.use_count() > 1) std::this_thread::sleep_for(1ms);  // the stuck threads release it
}

TEST_CASE("statistics are sums over the threads, and a reset begins a new window") {
  Engine engine(std::make_shared<MemorySource>(200, 16), options(3, 4));
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
  CHECK(engine.stats().decode_s >= first.decode_s);  // sums go on
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
  const auto source = std::make_shared<MemorySource>(20);
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

TEST_CASE("options that contradict the data are refused with the reason") {
  const auto refused = [](LoaderOptions wanted) {
    try {
      Engine engine(std::make_shared<MemorySource>(5), std::move(wanted));
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
