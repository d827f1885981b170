#include "data/pack/write/writer.h"

#include <doctest/doctest.h>

#include <chrono>
#include <set>
#include <thread>

#include "base/interruption.h"
#include "data/pack/test_pack.h"

namespace tundish {
namespace {

// Yields no sample until it is asked to stop, like an archive with one huge member.
class SlowSource : public MemorySource {
 public:
  explicit SlowSource(MemorySource source) : MemorySource(std::move(source)) { by_number = false; }
  void scan(const SampleSink&, const BadSink&) const override {
    for (int i = 0; i < 1000 && !stop_requested(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    was_asked = stop_requested();
  }
  mutable std::atomic<bool> was_asked = false;
};

}  // namespace

TEST_CASE("a pack that is stopped does not wait for the source's next sample") {
  const TemporaryFolder folder;
  const SlowSource source(image_source(3, 9));
  const std::atomic<bool> stop = true;
  CHECK_THROWS_AS(pack(folder / "a.tnd", source, {.stop = &stop}), Error);
  CHECK(source.was_asked);
}

TEST_CASE("the same input gives the same bytes for any number of threads") {
  MemorySource source = image_source(400, 40);
  source.items[17].fields[0].clear();
  source.items[99].fields[0] = bytes_of("no image");
  source.items[200].fails = ErrorCode::io_read;
  const FileBytes one = bytes_of_pack(source, {.threads = 1});
  for (const int threads : {2, 3, 8}) {
    CHECK(bytes_of_pack(source, {.threads = threads}) == one);
    CHECK(bytes_of_pack(source, {.threads = threads, .memory_bytes = 1}) == one);
  }
  source.by_number = false;
  CHECK(bytes_of_pack(source) == one);
}

TEST_CASE("refused samples are named, the others are packed and keep their order") {
  const TemporaryFolder folder;
  MemorySource source = image_source(10, 9);
  source.items[0].fields[0].clear();
  source.items[4].fields[0] = bytes_of("<html>404</html>");
  source.items[9].fails = ErrorCode::source_changed;
  const PackReport report = pack(folder / "a.tnd", source);
  REQUIRE(report.refused.size() == 3);
  CHECK(report.refused[0].code == ErrorCode::file_empty);
  CHECK(report.refused[0].sample == 0);
  CHECK(report.refused[0].key == "cat/0.npy");
  CHECK(report.refused[1].code == ErrorCode::not_an_image);
  CHECK(report.refused[2].code == ErrorCode::source_changed);
  CHECK(report.refused[2].text.starts_with("TND-311 memory: cat/9.npy changed while it was read"));
  CHECK(report.samples == 7);
  CHECK(report.samples_by_codec[static_cast<int>(Codec::npy)] == 7);
  const auto opened = Pack::open(folder / "a.tnd");
  CHECK(keys_of(*opened) == std::vector<std::string>{"cat/1.npy", "cat/2.npy", "cat/3.npy",
                                                     "cat/5.npy", "cat/6.npy", "cat/7.npy",
                                                     "cat/8.npy"});
  CHECK(verify_errors(*opened).empty());
  CHECK(report.file_bytes == opened->file_bytes());
  CHECK(report.id == opened->fingerprint());
}

TEST_CASE("an image that cannot be decoded here is packed as it came") {
  MemorySource source = image_source(2, 9);
  source.items[0].fields[0] = bytes_of({"II*\0 and so on", 14});
  source.items[1].fields[0].resize(20);  // a .npy file truncated in its header
  const TemporaryFolder folder;
  const PackReport report = pack(folder / "a.tnd", source);
  CHECK(report.samples == 2);
  CHECK(report.kept_as_they_came == 1);
  REQUIRE(report.doubtful.size() == 1);
  CHECK(report.doubtful[0].sample == 1);
  const auto opened = Pack::open(folder / "a.tnd");
  CHECK(opened->info(0).codec == Codec::unknown);
  CHECK(opened->info(1).codec == Codec::npy);
  CHECK(opened->info(1).width == 0);
  Sample sample;
  opened->read(sample, 1);
  CHECK(sample.fields[0] == source.items[1].fields[0]);
}

TEST_CASE("arrays of one shape are packed as their elements, images among them") {
  const TemporaryFolder folder;
  Random random({.seed = 5}, 0);
  MemorySource source;
  source.schema_.fields = {
      {"image", FieldType::image, ArrayType{ArrayElement::uint8, {3, 4, 5}}, true},
      {"x", FieldType::array, ArrayType{ArrayElement::float32, {2}}}};
  for (int i = 0; i < 10; ++i) {
    source.items.push_back(
        {fmt::format("{}", i), -1, {random_bytes(60, random), random_bytes(8, random)}});
  }
  source.items[3].fields[0].pop_back();
  source.items[5].fields[1].clear();  // a sample may lack an array
  const PackReport report = pack(folder / "a.tnd", source);
  CHECK(report.samples == 9);
  REQUIRE(report.refused.size() == 1);
  CHECK(report.refused.front().text.find("has 59 bytes, which is not uint8 (3, 4, 5)") !=
        std::string::npos);

  const auto opened = Pack::open(folder / "a.tnd");
  CHECK(opened->schema().fields == source.schema_.fields);
  CHECK(opened->info(0).codec == Codec::raw);
  CHECK(opened->info(0).width == 5);
  CHECK(opened->info(0).height == 4);
  Sample sample;
  opened->read(sample, 8);
  CHECK(sample.fields == source.items[9].fields);
  ImageHeader header;
  CHECK_FALSE(opened->read_header(header, 8, sample.fields[0], Limits{}));
  CHECK(header.raw.channels_first);
}

TEST_CASE("records are aligned to 64 bytes, small ones to 8, known sizes or not") {
  for (const bool known : {true, false}) {
    MemorySource large = image_source(70, 9), small = large;
    Random random({}, 0);
    for (MemorySource::Item& item : large.items) item.fields[0] = npy_image(40, 40, random);
    large.knows_sizes = small.knows_sizes = known;
    CHECK(open_bytes(bytes_of_pack(large))->alignment() == 64);
    CHECK(open_bytes(bytes_of_pack(small))->alignment() == 8);
    small.items.resize(3);
    CHECK(open_bytes(bytes_of_pack(small))->alignment() == 8);
    small.items[0].fields[0] = npy_image(100, 100, random);
    CHECK(open_bytes(bytes_of_pack(small))->alignment() == 64);
  }
}

TEST_CASE("the pack id depends on the content, not on the source") {
  MemorySource source = image_source(20, 9);
  const auto id_of = [](const Source& from) {
    return open_bytes(bytes_of_pack(from))->fingerprint();
  };
  const std::string id = id_of(source);
  std::set<std::string> ids = {id};
  source.schema_.source = "another kind";
  CHECK(id_of(source) == id);

  const auto differs = [&](auto change) {
    MemorySource other = source;
    change(other);
    CHECK(ids.insert(id_of(other)).second);
  };
  differs([](MemorySource& s) { s.items[3].label = 9; });
  differs([](MemorySource& s) { s.items[3].key += 'x'; });
  differs([](MemorySource& s) { s.items[3].fields[0].back() ^= std::byte{1}; });
  differs([](MemorySource& s) { std::swap(s.items[3], s.items[4]); });
  differs([](MemorySource& s) { s.items.pop_back(); });
  differs([](MemorySource& s) { s.schema_.classes[0] = "lion"; });
  differs([](MemorySource& s) { s.schema_.fields[0].name = "photo"; });
}

TEST_CASE("a pack of a pack has the same id") {
  const TemporaryFolder folder;
  pack(folder / "a.tnd", image_source(2000, 5));
  const auto first = Pack::open(folder / "a.tnd");
  const PackReport again = pack(folder / "b.tnd", *first);
  CHECK(again.id == first->fingerprint());
}

TEST_CASE("errors before the first record leave the old file and nothing else") {
  const TemporaryFolder folder;
  const std::string target = folder.write("a.tnd", "old");
  const auto code = [&](const Source& source, PackOptions options) {
    options.replace = true;
    try {
      pack(target, source, options);
    } catch (const Error& error) {
      CHECK(std::filesystem::file_size(target) == 3);
      CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
      return error.code();
    }
    return ErrorCode::none;
  };
  MemorySource source = image_source(300, 9);
  const std::atomic<bool> stop = true;
  CHECK(code(source, {.stop = &stop}) == ErrorCode::interrupted);
  source.may_be_read = false;
  CHECK(code(source, {}) == ErrorCode::io_read);
  source.by_number = false;
  CHECK(code(source, {}) == ErrorCode::io_read);
  CHECK(code(MemorySource{}, {}) == ErrorCode::argument);  // no fields
  CHECK(code(image_source(0, 9), {}) == ErrorCode::source_empty);
  MemorySource empty = image_source(3, 9);
  for (MemorySource::Item& item : empty.items) item.fields[0].clear();
  CHECK(code(empty, {}) == ErrorCode::all_refused);
  MemorySource broke = image_source(3, 9);
  broke.items[0].fails = ErrorCode::no_memory;
  CHECK(code(broke, {}) == ErrorCode::no_memory);
  CHECK_THROWS_WITH_AS(pack(target, image_source(3, 9)), doctest::Contains("TND-506"), Error);
}

TEST_CASE("progress ends with everything done") {
  const TemporaryFolder folder;
  const MemorySource source = image_source(300, 20);
  PackProgress last;
  pack(folder / "a.tnd", source, {.progress = [&](const PackProgress& now) { last = now; }});
  CHECK(last.samples == 300);
  CHECK(last.samples_total == 300);
  CHECK(last.bytes == last.bytes_total);
}

TEST_CASE("one empty file does not hide how much there is to do") {
  const TemporaryFolder folder;
  MemorySource source = image_source(30, 20);
  source.items[7].fields[0].clear();
  PackProgress last;
  const PackReport report =
      pack(folder / "a.tnd", source, {.progress = [&](const PackProgress& now) { last = now; }});
  CHECK(report.refused.size() == 1);
  CHECK(last.bytes_total == report.source_bytes);
  CHECK(last.bytes == last.bytes_total);
}

TEST_CASE("names come in blocks, and each can be read alone") {
  for (const std::uint64_t count : {1u, 1023u, 1024u, 1025u, 2048u, 3000u}) {
    MemorySource source;
    source.schema_ = {{{"text", FieldType::text}}, {}, "test"};
    for (std::uint64_t i = 0; i < count; ++i) source.items.push_back({std::to_string(i), -1, {{}}});
    const FileBytes bytes = bytes_of_pack(source);
    const auto opened = open_bytes(bytes);
    CHECK(opened->key(count - 1) == std::to_string(count - 1));
    CHECK(opened->key(0) == "0");
    CHECK(keys_of(*opened).size() == count);
    CHECK(verify_errors(*opened).empty());
  }
}

}  // namespace tundish
