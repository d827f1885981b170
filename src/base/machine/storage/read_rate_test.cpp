#include "base/machine/storage/read_rate.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/machine/storage/page_cache.h"
#include "base/temporary_folder.h"
#include "base/testing.h"

namespace tundish {
namespace {

constexpr ReadLimits kShort = {.seconds = 0.05, .bytes = std::uint64_t{8} << 20};

TEST_CASE("files of a folder are found, links to folders are not followed, pipes are none") {
  const TemporaryFolder folder;
  folder.write("a/b/one", "12345");
  folder.write("two", "123");
  folder.write("empty", "");
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  std::filesystem::create_directory_symlink(folder.path(), folder / "a/loop");
  const DataFiles data = find_data_files(folder.path());
  CHECK(data.files.size() == 2);
  CHECK(data.bytes == 8);
  CHECK(data.complete);
  CHECK(find_data_files(folder / "two").bytes == 3);
  CHECK(find_data_files(folder / "absent").files.empty());
}

TEST_CASE("random places are inside of their files, aligned, and everywhere") {
  Random random({.seed = test_seed()}, 3);
  DataFiles data;
  for (int i = 0; i < 5; ++i) {
    const std::uint64_t bytes = 1 + random.below(std::uint64_t{1} << 20);
    data.files.push_back({.path = "", .bytes = bytes});
    data.bytes += bytes;
  }
  data.files.push_back({.path = "", .bytes = std::uint64_t{1} << 40});
  data.bytes += std::uint64_t{1} << 40;
  for (const std::uint64_t record :
       {std::uint64_t{1}, std::uint64_t{4096}, std::uint64_t{70'000}, std::uint64_t{1} << 30}) {
    std::uint64_t beyond = 0;
    for (std::uint64_t n = 0; n < 500; ++n) {
      const ReadPlace place = random_place(data, record, test_seed(), n);
      const std::uint64_t bytes = data.files.at(place.file).bytes;
      CHECK(place.offset % 4096 == 0);
      CHECK(place.offset + place.length <= bytes);
      CHECK(place.length > 0);
      beyond += place.offset > bytes / 2;
    }
    CHECK(beyond > 150);
    CHECK(beyond < 350);
  }
  const ReadPlace whole = random_place(data, 0, 1, 1);
  CHECK(whole.offset == 0);
  CHECK(whole.length == data.files[whole.file].bytes);
  CHECK(random_place({}, 4096, 1, 1).length == 0);
}

TEST_CASE("reading is measured in order and at random, alone and together") {
  const TemporaryFolder folder;
  folder.write("large", std::string((std::size_t{3} << 20) + 777, 'x'));
  folder.write("small", std::string(5000, 'y'));
  const DataFiles data = find_data_files(folder.path());
  const ReadRate sequential = measure_sequential(data, 1, kShort);
  CHECK(sequential.fault == "");
  CHECK(sequential.reads > 0);
  CHECK(sequential.bytes_per_second() > 0);
  for (const std::uint64_t record : {std::uint64_t{0}, std::uint64_t{10'000}}) {
    for (const unsigned depth : {1u, 4u}) {
      const ReadRate rate = measure_random(data, record, depth, 1, kShort);
      CHECK(rate.fault == "");
      CHECK(rate.reads > 0);
      CHECK(rate.depth == depth);
      if (record > 0) CHECK(rate.bytes <= rate.reads * 12'288);
    }
  }
}

TEST_CASE("the limit of bytes ends a measurement") {
  const TemporaryFolder folder;
  folder.write("file", std::string(std::size_t{2} << 20, 'x'));
  const DataFiles data = find_data_files(folder.path());
  const ReadLimits limits = {.seconds = 600, .bytes = std::uint64_t{3} << 20};
  CHECK(measure_sequential(data, 1, limits).bytes < std::uint64_t{5} << 20);
  CHECK(measure_random(data, 65'536, 2, 1, limits).bytes < std::uint64_t{4} << 20);
}

TEST_CASE("files that vanish or shrink are no crash") {
  const TemporaryFolder folder;
  folder.write("gone", std::string(100'000, 'x'));
  const DataFiles data = find_data_files(folder.path());
  folder.write("gone", "x");
  CHECK(measure_sequential(data, 1, kShort).bytes <= 100'000 * 1000);
  std::filesystem::remove(folder / "gone");
  CHECK(measure_random(data, 4096, 2, 1, kShort).fault != "");
  CHECK(measure_sequential({}, 1, kShort).fault != "");
  CHECK(measure_random({}, 4096, 1, 1, kShort).fault != "");
}

TEST_CASE("the page cache is asked in two ways that agree") {
  const TemporaryFolder folder;
  folder.write("file", std::string(100'000, 'x'));  // just written, so still in memory
  const DataFiles data = find_data_files(folder.path());
  const CachedPart any = find_cached_part(data);
  const CachedPart mincore = find_cached_part(data, CacheQuestion::mincore);
  CHECK(any.seen == 100'000);
  CHECK(any.cached == 100'000);
  CHECK(mincore.cached == any.cached);
  CHECK(find_cached_part({}).share() == 0);
}

}  // namespace
}  // namespace tundish
