#include "data/source/disk_cache/disk_cache.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/temporary_folder.h"
#include "base/testing.h"
#include "data/source/disk_cache/cache_folder.h"
#include "data/source/disk_cache/cached_source.h"
#include "data/source/memory_source.h"
#include "data/source/open.h"

namespace tundish {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMiB = 1ull << 20;
constexpr std::uint64_t kCount = 40;

// Reference implementation without a cache; counts the reads.
class Asked : public MemorySource {
 public:
  explicit Asked(std::uint64_t seed, std::size_t bytes = 20'000) {
    Random random({.seed = seed}, 0);
    schema_.fields = {{"image", FieldType::image}, {"note", FieldType::bytes}};
    for (std::uint64_t i = 0; i < kCount; ++i) {
      items.push_back({.key = fmt::format("{}/{}", seed, i),
                       .fields = {random_bytes(1 + random.below(bytes), random),
                                  random_bytes(random.below(9), random)}});
    }
  }
  void read(Sample& out, std::uint64_t i, FieldSet fields) const override {
    ++asked;
    MemorySource::read(out, i, fields);
    for (std::size_t f = 0; f < out.fields.size(); ++f) {
      if ((fields >> f & 1) == 0) out.fields[f].clear();
    }
  }
  mutable std::atomic<std::uint64_t> asked = 0;
};

bool same(const Source& one, const Source& other, std::uint64_t i, FieldSet fields) {
  Sample a, b;
  one.read(a, i, fields);
  other.read(b, i, fields);
  return a.fields == b.fields;
}

std::vector<fs::path> files_in(const std::string& root) {
  std::vector<fs::path> out;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    const std::string name = entry.path().filename();
    if (name.ends_with(".part") || name.ends_with(".records")) out.push_back(entry.path());
  }
  return out;
}

}  // namespace

TEST_CASE("disk cache: folders that another user could fill are a risk") {
  struct stat folder = {};
  folder.st_uid = 1000;
  const auto risk = [&](mode_t mode, uid_t user, uid_t owner) {
    folder.st_mode = mode;
    return cache_folder_risk(folder, user, owner);
  };
  CHECK(risk(S_IFDIR | 0700, 1000, 0).empty());
  CHECK(risk(S_IFDIR | 0775, 1000, 0).empty());
  CHECK(risk(S_IFDIR | 01777, 1000, 0).empty());
  CHECK(risk(S_IFDIR | 0755, 1001, 1000).empty());
  CHECK(risk(S_IFDIR | 0777, 1000, 1000) == "every user may write to it (mode 0777)");
  CHECK(risk(S_IFDIR | 0702, 1000, 1000) == "every user may write to it (mode 0702)");
  CHECK(risk(S_IFDIR | 0700, 1001, 0) == "it belongs to user 1000");
  CHECK(risk(S_IFLNK | 0777, 1000, 1000) == "it is not a folder");
}

TEST_CASE("a source with a disk cache gives the samples of the source, within the limit") {
  Random random({.seed = test_seed()}, 0);
  const TemporaryFolder folder;
  const auto plain = std::make_shared<const Asked>(1, 200'000);
  for (int round = 0; round < 6; ++round) {
    const std::uint64_t limit = kMiB + random.below(4 * kMiB);
    const CachedSource cached(plain, folder / "cache", limit);
    for (int n = 0; n < 100; ++n) {
      REQUIRE(same(cached, *plain, random.below(kCount), random.below(4)));
      REQUIRE(cache_folder_bytes(folder / "cache") <= limit);
    }
  }
}

TEST_CASE("the second loader reads the samples of the first from the disk") {
  const TemporaryFolder folder;
  const auto source = std::make_shared<const Asked>(2);
  Sample sample;
  for (int round = 0; round < 2; ++round) {
    const CachedSource cached(source, folder / "cache", 64 * kMiB);
    for (std::uint64_t i = 0; i < kCount; ++i) cached.read(sample, i, kAllFields);
    CHECK(source->asked == kCount);
    CHECK(cached.counts().hits == (round == 0 ? 0 : kCount));
    CHECK(cached.counts().bytes > 0);
  }
  CHECK(files_in(folder / "cache").size() == 1);
}

TEST_CASE("what a killed process had written is there afterwards") {
  const TemporaryFolder folder;
  const auto source = std::make_shared<const Asked>(3);
  {
    const CachedSource cached(source, folder / "cache", 64 * kMiB);
    Sample sample;
    for (std::uint64_t i = 0; i < kCount; ++i) cached.read(sample, i, kAllFields);
    fs::copy(folder / "cache", folder / "killed", fs::copy_options::recursive);  // without locks
  }
  const auto left = files_in(folder / "killed");
  REQUIRE(left.size() == 1);
  REQUIRE(left.front().extension() == ".part");
  SUBCASE("all of it") {
    const CachedSource cached(source, folder / "killed", 64 * kMiB);
    for (std::uint64_t i = 0; i < kCount; ++i) REQUIRE(same(cached, *source, i, kAllFields));
    CHECK(cached.counts().hits == kCount);
    CHECK(files_in(folder / "killed").front().extension() == ".records");
  }
  SUBCASE("all records before one that was not written whole") {
    std::fstream file(left.front(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(kCacheHead + 150'000));
    file.put('\x55').put('\x56').put('\x57');
    file.close();
    const CachedSource cached(source, folder / "killed", 64 * kMiB);
    for (std::uint64_t i = 0; i < kCount; ++i) REQUIRE(same(cached, *source, i, kAllFields));
    CHECK(cached.counts().hits > 0);
    CHECK(cached.counts().hits < kCount);
  }
}

TEST_CASE("damaged files of a disk cache are read again from the source") {
  Random random({.seed = test_seed()}, 0);
  const TemporaryFolder folder;
  const auto source = std::make_shared<const Asked>(4);
  std::uint64_t damaged = 0;
  for (int round = 0; round < 40; ++round) {
    const CachedSource cached(source, folder / "cache", 64 * kMiB);
    for (int n = 0; n < 20; ++n) REQUIRE(same(cached, *source, random.below(kCount), 3));
    for (const fs::path& path : files_in(folder / "cache")) {
      const std::uint64_t size = fs::file_size(path);
      if (random.below(4) == 0) fs::resize_file(path, random.below(size));
      std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
      for (int n = 0; n < 30; ++n) {
        file.seekp(static_cast<std::streamoff>(random.below(size)));
        file.put(static_cast<char>(random.next()));
      }
    }
    for (int n = 0; n < 20; ++n) REQUIRE(same(cached, *source, random.below(kCount), 3));
    damaged += cached.counts().damaged;
  }
  CHECK(damaged > 0);
}

TEST_CASE("two loaders with threads share a folder and its limit") {
  const TemporaryFolder folder;
  const auto plain = std::make_shared<const Asked>(5, 100'000);
  constexpr std::uint64_t kLimit = 3 * kMiB;
  std::atomic<bool> wrong = false, above = false;
  std::vector<std::thread> threads;
  for (int loader = 0; loader < 2; ++loader) {
    const auto cached = std::make_shared<const CachedSource>(plain, folder / "cache", kLimit);
    for (std::uint64_t t = 0; t < 3; ++t) {
      threads.emplace_back([&, cached, seed = test_seed() + t] {
        Random random({.seed = seed}, 0);
        for (int n = 0; n < 60; ++n) {
          if (!same(*cached, *plain, random.below(kCount), 1 + random.below(3))) wrong = true;
          if (cache_folder_bytes(folder / "cache") > kLimit) above = true;
        }
      });
    }
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_FALSE(wrong);
  CHECK_FALSE(above);
  CHECK(cache_folder_bytes(folder / "cache") > 0);
}

TEST_CASE("a dataset that nobody uses makes room, one that is open does not") {
  const TemporaryFolder folder;
  const std::string root = folder / "cache";
  const auto first = std::make_shared<const Asked>(6), second = std::make_shared<const Asked>(7);
  Sample sample;
  const auto read_all = [&](const Source& source) {
    for (std::uint64_t i = 0; i < kCount; ++i) source.read(sample, i, kAllFields);
  };
  auto open = std::make_unique<const CachedSource>(first, root, kMiB);
  read_all(*open);
  CHECK(open->counts().bytes > 0);
  {
    const CachedSource other(second, root, kMiB);
    read_all(other);
    CHECK(other.counts().bytes == 0);
  }
  open.reset();
  {
    const CachedSource other(second, root, kMiB);
    read_all(other);
    CHECK(other.counts().bytes > 0);
  }
  const std::uint64_t before = first->asked;
  const CachedSource again(first, root, kMiB);
  read_all(again);
  CHECK(first->asked == before + kCount);
}

TEST_CASE("a lower limit makes a disk cache smaller when it is opened") {
  const TemporaryFolder folder;
  const auto source = std::make_shared<const Asked>(8, 200'000);
  Sample sample;
  {
    const CachedSource cached(source, folder / "cache", 16 * kMiB);
    for (std::uint64_t i = 0; i < kCount; ++i) cached.read(sample, i, kAllFields);
  }
  CHECK(cache_folder_bytes(folder / "cache") > 2 * kMiB);
  const CachedSource cached(source, folder / "cache", 2 * kMiB);
  CHECK(cache_folder_bytes(folder / "cache") <= 2 * kMiB);
}

TEST_CASE("a file that was written again makes another dataset of the cache") {
  const TemporaryFolder folder;
  folder.write("set/a/1.jpg", "one");
  folder.write("set/a/2.jpg", "two");
  const auto id = [&] { return cache_id(*open_loose(folder / "set")).hex(); };
  const std::string before = id();
  CHECK(id() == before);
  folder.write("set/a/1.jpg", "eno");
  fs::last_write_time(folder / "set/a/1.jpg",
                      fs::file_time_type::clock::now() - std::chrono::hours(3));
  CHECK(id() != before);
}

TEST_CASE("a folder that cannot be used is an error") {
  const TemporaryFolder folder;
  folder.write("file", "");
  const auto source = std::make_shared<const Asked>(9);
  CHECK_THROWS_AS(CachedSource(source, folder / "file", kMiB), Error);
  CHECK_THROWS_AS(CachedSource(source, "/proc/no/such", kMiB), Error);
}

}  // namespace tundish
