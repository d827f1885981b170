#include <doctest/doctest.h>

#include <filesystem>
#include <set>

#include "base/testing.h"
#include "data/pack/manifest.h"
#include "data/pack/test_pack.h"
#include "data/pack/write/journal.h"
#include "data/pack/write/shard_names.h"

namespace tundish {
namespace {

FileBytes contents(const std::string& path) {
  FileBytes out;
  read_file(out, path, std::uint64_t{1} << 32);
  return out;
}

std::set<std::string> names_in(const TemporaryFolder& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    names.insert(entry.path().filename().string());
  }
  return names;
}

// A source with images of all sizes, refused samples and one broken image.
MemorySource mixed_source(std::uint64_t count) {
  MemorySource source = image_source(count, 30);
  for (std::uint64_t i = 3; i < count; i += 11) source.items[i].fields[0].clear();
  for (std::uint64_t i = 5; i < count; i += 13) source.items[i].fields[0].resize(20);
  return source;
}

// Training also reads samples, and would fail before the first record.
constexpr auto kTables = LanesTables::builtin;

// Packs, but reading sample `at` fails as if the machine had no memory left. Returns the number
// of samples that the earlier run had finished.
std::uint64_t break_off(const std::string& target, MemorySource source, std::uint64_t at,
                        PackOptions options) {
  std::uint64_t resumed = 0;
  options.resumed = [&](const Resumption& resumption) {
    CHECK(resumption.why_not == "");
    resumed = resumption.samples;
  };
  source.items[at].fails = ErrorCode::no_memory;
  const auto run = options.shard_bytes > 0 ? pack_shards : pack;
  CHECK_THROWS_WITH_AS(run(target, source, options), doctest::Contains("TND-505"), Error);
  return resumed;
}

struct Kind {
  bool by_number, knows_sizes;
  int threads;
};
constexpr Kind kKinds[] = {{true, true, 1}, {true, true, 4}, {false, true, 1}, {false, false, 1}};

}  // namespace

TEST_CASE("a pack that broke off at random samples goes on and gives the same bytes") {
  Random random({.seed = test_seed()}, 0);
  for (const Kind& kind : kKinds) {
    MemorySource source = mixed_source(150);
    source.by_number = kind.by_number;
    source.knows_sizes = kind.knows_sizes;
    PackOptions options{.threads = kind.threads, .tables = kTables};
    const TemporaryFolder folder;
    pack(folder / "whole.tnd", source, options);
    for (int round = 0; round < 6; ++round) {
      options.checkpoint_seconds = round == 0 ? 0 : 1000;
      std::uint64_t done = 0;
      for (std::uint64_t at = random.below(60); at < 150; at += 1 + random.below(60)) {
        const std::uint64_t now = break_off(folder / "a.tnd", source, at, options);
        CHECK(now <= at);
        // If sizes are unknown, the first records wait in memory until the alignment is decided.
        if (kind.threads == 1 && kind.knows_sizes) {
          CHECK(now == done);
          done = at;
        }
        CHECK_FALSE(std::filesystem::exists(folder / "a.tnd"));
      }
      const PackReport report = pack(folder / "a.tnd", source, options);
      CHECK(report.resumed_at >= done);
      if (kind.threads == 1 && kind.knows_sizes) CHECK(report.resumed_at == done);
      CHECK(report.samples == open_bytes(contents(folder / "whole.tnd"))->count());
      CHECK(report.refused.size() == 14);
      CHECK(contents(folder / "a.tnd") == contents(folder / "whole.tnd"));
      CHECK(names_in(folder) == std::set<std::string>{"a.tnd", "whole.tnd"});
      std::filesystem::remove(folder / "a.tnd");
    }
  }
}

TEST_CASE("a resumed pack reports what an uninterrupted one reports") {
  const TemporaryFolder folder;
  const MemorySource source = mixed_source(150);
  const PackReport whole = pack(folder / "whole.tnd", source, {.tables = kTables});
  break_off(folder / "a.tnd", source, 120, {.threads = 1, .tables = kTables});
  PackProgress last;
  const PackReport resumed =
      pack(folder / "a.tnd", source,
           {.tables = kTables, .progress = [&](const PackProgress& now) { last = now; }});
  CHECK(resumed.resumed_at == 120);
  CHECK(resumed.id == whole.id);
  CHECK(resumed.source_bytes == whole.source_bytes);
  CHECK(resumed.file_bytes == whole.file_bytes);
  CHECK(std::equal(std::begin(resumed.samples_by_codec), std::end(resumed.samples_by_codec),
                   std::begin(whole.samples_by_codec)));
  REQUIRE(resumed.refused.size() == whole.refused.size());
  REQUIRE(resumed.doubtful.size() == whole.doubtful.size());
  for (std::size_t i = 0; i < whole.refused.size(); ++i) {
    CHECK(resumed.refused[i].sample == whole.refused[i].sample);
    CHECK(resumed.refused[i].text == whole.refused[i].text);
  }
  for (std::size_t i = 0; i < whole.doubtful.size(); ++i) {
    CHECK(resumed.doubtful[i].text == whole.doubtful[i].text);
  }
  CHECK(last.samples == 150);
  CHECK(last.bytes == last.bytes_total);
}

TEST_CASE("shards that broke off go on, and finished shards are not written again") {
  Random random({.seed = test_seed()}, 1);
  for (const Kind& kind : kKinds) {
    MemorySource source = mixed_source(150);
    source.by_number = kind.by_number;
    source.knows_sizes = kind.knows_sizes;
    PackOptions options{.threads = kind.threads, .tables = kTables, .shard_bytes = 20'000};
    const TemporaryFolder whole, folder;
    pack_shards(whole / "a.tnd", source, options);
    REQUIRE(names_in(whole).size() > 5);
    for (std::uint64_t at = random.below(40); at < 150; at += 1 + random.below(40)) {
      break_off(folder / "a.tnd", source, at, options);
      CHECK_FALSE(std::filesystem::exists(folder / "a.tnds"));
      if (!std::filesystem::exists(folder / "a-00000.tnd")) continue;
      // The next run would fail if it tried to write this file.
      CHECK(contents(folder / "a-00000.tnd") == contents(whole / "a-00000.tnd"));
    }
    const PackReport report = pack_shards(folder / "a.tnd", source, options);
    CHECK(names_in(folder) == names_in(whole));
    CHECK(report.files.size() == names_in(whole).size() - 1);
    for (const std::string& name : names_in(whole)) {
      CHECK(contents(folder / name) == contents(whole / name));
      CHECK(contents(folder / name).size() <= 20'000);
    }
  }
}

TEST_CASE("the cuts between shards do not depend on the number of threads") {
  const MemorySource source = mixed_source(150);
  const TemporaryFolder one, many;
  pack_shards(one / "a.tnd", source, {.threads = 1, .shard_bytes = 15'000});
  pack_shards(many / "a.tnd", source,
              {.threads = 5, .memory_bytes = 1000, .shard_bytes = 15'000, .checkpoint_seconds = 0});
  CHECK(names_in(one) == names_in(many));
  for (const std::string& name : names_in(one))
    CHECK(contents(one / name) == contents(many / name));
}

TEST_CASE("a record that is larger than a shard is a shard of its own") {
  const TemporaryFolder folder;
  const PackReport report = pack_shards(folder / "a.tnd", image_source(5, 30), {.shard_bytes = 1});
  CHECK(report.files.size() == 5);
  CHECK(open_manifest(folder / "a.tnds")->count() == 5);
}

TEST_CASE("parts of a source together are the source") {
  MemorySource source = mixed_source(50);
  for (const bool by_number : {true, false}) {
    source.by_number = by_number;
    const TemporaryFolder folder;
    pack(folder / "whole.tnd", source);
    const auto whole = Pack::open(folder / "whole.tnd");
    std::vector<std::string> keys;
    for (std::uint64_t i = 0; i < 7; ++i) {
      const std::string target = shard_name(folder / "a.tnd", i, 7);
      pack(target, source, {.shard = {i, 7}});
      const auto part = Pack::open(target);
      CHECK(verify_errors(*part).empty());
      CHECK(part->alignment() == whole->alignment());
      for (const std::string& key : keys_of(*part)) keys.push_back(key);
    }
    CHECK(keys == keys_of(*whole));
  }
  const TemporaryFolder folder;
  CHECK_THROWS_WITH_AS(pack(folder / "a.tnd", source, {.shard = {7, 7}}),
                       doctest::Contains("counted from 0"), Error);
  CHECK_THROWS_WITH_AS(pack(folder / "a.tnd", source, {.shard = {0, 51}}),
                       doctest::Contains("50 samples cannot fill 51 shards"), Error);
}

TEST_CASE("a part that broke off goes on") {
  const MemorySource source = mixed_source(90);
  const TemporaryFolder folder;
  const PackOptions options{.threads = 1, .tables = kTables, .shard = {1, 3}};
  pack(folder / "whole.tnd", source, options);
  break_off(folder / "a.tnd", source, 50, options);
  CHECK(pack(folder / "a.tnd", source, options).resumed_at == 20);
  CHECK(contents(folder / "a.tnd") == contents(folder / "whole.tnd"));
}

TEST_CASE("what does not fit the interrupted pack starts over and says why") {
  const TemporaryFolder folder;
  const MemorySource source = mixed_source(60);
  const auto reason = [&](const MemorySource& now, PackOptions options) {
    break_off(folder / "a.tnd", source, 50, {.threads = 1, .tables = kTables});
    options.tables = kTables;
    std::string why;
    options.resumed = [&](const Resumption& resumption) { why = resumption.why_not; };
    const PackReport report = pack(folder / "a.tnd", now, options);
    CHECK(report.resumed_at == 0);
    CHECK(contents(folder / "a.tnd") == bytes_of_pack(now, options));
    CHECK(names_in(folder).size() == 1);
    std::filesystem::remove(folder / "a.tnd");
    return why;
  };
  MemorySource other = source;
  other.items[40].key += 'x';
  CHECK(reason(other, {}) == "the source has changed");
  CHECK(reason(source, {.lanes = false}) == "options have changed: codec=keep, was lanes");
  CHECK(reason(source, {.lanes = false, .strip_metadata = true}) ==
        "options have changed: codec=keep, was lanes; strip_metadata=true, was false");
  CHECK(reason(source, {.shard = {0, 2}}) == "the shard has changed");
  CHECK(reason(source, {.resume = false}) == "");
}

TEST_CASE("damage to the hidden files costs work, never bytes") {
  Random random({.seed = test_seed()}, 2);
  const MemorySource source = mixed_source(30);
  const TemporaryFolder folder;
  pack(folder / "whole.tnd", source, {.tables = kTables});
  const FileBytes whole = contents(folder / "whole.tnd");
  for (int round = 0; round < 40; ++round) {
    break_off(folder / "a.tnd", source, 10 + random.below(20),
              {.threads = 1, .tables = kTables, .checkpoint_seconds = 0});
    const std::string file = folder / (random.below(2) ? ".a.tnd.partial" : ".a.tnd.journal");
    FileBytes bytes = contents(file);
    REQUIRE(!bytes.empty());
    if (random.below(2)) {
      bytes[random.below(bytes.size())] ^= static_cast<std::byte>(1 + random.below(255));
    } else {
      bytes.resize(random.below(bytes.size()));
    }
    folder.write(std::filesystem::path(file).filename(),
                 {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    pack(folder / "a.tnd", source, {.tables = kTables});
    CHECK(contents(folder / "a.tnd") == whole);
    CHECK(names_in(folder).size() == 2);
    std::filesystem::remove(folder / "a.tnd");
  }
}

TEST_CASE("a shard that was removed or replaced is written again") {
  const MemorySource source = mixed_source(150);
  const TemporaryFolder folder, whole;
  const PackOptions options{
      .threads = 1, .replace = true, .tables = kTables, .shard_bytes = 20'000};
  pack_shards(whole / "a.tnd", source, options);
  for (const bool remove : {true, false}) {
    break_off(folder / "a.tnd", source, 140, options);
    REQUIRE(std::filesystem::exists(folder / "a-00002.tnd"));
    std::filesystem::remove(folder / "a-00001.tnd");
    if (!remove) {
      std::filesystem::copy(folder / "a-00000.tnd", folder / "a-00001.tnd");
    }
    pack_shards(folder / "a.tnd", source, options);
    CHECK(names_in(folder) == names_in(whole));
    for (const std::string& name : names_in(whole)) {
      CHECK(contents(folder / name) == contents(whole / name));
    }
  }
}

TEST_CASE("a second pack of one target is refused while the first one runs") {
  const TemporaryFolder folder;
  const MemorySource source = image_source(5, 9);
  {
    const OutputTarget target(folder / "a.tnd", false);
    const Journal running(target, true);
    CHECK_THROWS_WITH_AS(pack(folder / "a.tnd", source), doctest::Contains("TND-510"), Error);
    pack(folder / "b.tnd", source);
  }
  CHECK(pack(folder / "a.tnd", source).samples == 5);
}

TEST_CASE("the hidden file of another name or kind is never written into") {
  const TemporaryFolder folder;
  const std::string victim = folder.write("victim", "precious");
  const MemorySource source = image_source(5, 9);
  std::filesystem::create_hard_link(victim, folder / ".a.tnd.partial");
  std::filesystem::create_hard_link(victim, folder / ".a.tnd.journal");
  pack(folder / "a.tnd", source);
  CHECK(contents(victim) == bytes_of("precious"));
  std::filesystem::create_symlink(victim, folder / ".b.tnd.partial");
  CHECK_THROWS_AS(pack(folder / "b.tnd", source), Error);
  CHECK(contents(victim) == bytes_of("precious"));
}

}  // namespace tundish
