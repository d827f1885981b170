#include "base/machine/text_file.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "base/machine/cpu_list.h"
#include "base/machine/storage/mounts.h"
#include "base/temporary_folder.h"
#include "base/testing.h"

namespace tundish {
namespace {

using Cpus = std::vector<std::uint32_t>;

TEST_CASE("numbers of system files are read, and nothing else is a number") {
  CHECK(parse_integer(" 42 kB\n") == std::uint64_t{42});
  CHECK(parse_integer("18446744073709551615") == ~std::uint64_t{0});
  for (const char* text : {"", "max", "-1", "18446744073709551616", "4x", "0x4", "\n"}) {
    CHECK_FALSE(parse_integer(text));
  }
  CHECK(parse_decimal("0.75 0.5") == 0.75);
  for (const char* text : {"", "nan", "inf", "-1", "1e999", "x"}) CHECK_FALSE(parse_decimal(text));
  const std::string text = "MemTotal:  12 kB\nMemTotalX: 5\nnr_throttled 3\nnr_throttled_more 4\n";
  CHECK(number_of(text, "MemTotal:") == std::uint64_t{12});
  CHECK(number_of(text, "nr_throttled") == std::uint64_t{3});
  CHECK_FALSE(number_of(text, "nr"));
  CHECK(value_of("Name:\tpython 3\n", "Name:") == "python 3");
}

TEST_CASE("a missing file, or a pipe without a writer, gives an answer at once") {
  const TemporaryFolder folder;
  CHECK_FALSE(read_text(folder / "absent"));
  CHECK_FALSE(read_text(folder.path()));
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK_FALSE(read_text(folder / "pipe"));
  CHECK(read_text(folder.write("empty", "")) == "");
  const std::string large(kMaxText + 50'000, 'x');
  CHECK(read_text(folder.write("large", large))->size() <= kMaxText + 4096);
}

TEST_CASE("lists of CPUs are read") {
  CHECK(parse_cpu_list("0-3,8,10-11\n") == Cpus{0, 1, 2, 3, 8, 10, 11});
  CHECK(parse_cpu_list("5,1,1-2") == Cpus{1, 2, 5});
  CHECK(parse_cpu_list(" \n") == Cpus{});
  CHECK(parse_cpu_list("0-65535")->size() == kMaxCpus);
  for (const char* text : {"3-1", "a", "1,,2", "1,", "-1", "1-", "65536", "0-99999999999", "1 2"}) {
    CHECK_FALSE(parse_cpu_list(text));
  }
  CHECK(shared_cpus({1, 2, 3}, {2, 3, 4}) == 2);
}

constexpr const char* kMounts =
    "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
    "27 1 254:0 / / rw,relatime shared:1 master:2 - ext4 /dev/vda rw\n"
    "28 27 0:40 / /data\\040sets rw - nfs4 server:/export rw\n"
    "29 28 8:17 / /data\\040sets/local rw - xfs /dev/sdb1 rw\n"
    "30 28 8:18 / /data\\040sets/local rw - btrfs /dev/sdc1 rw\n";

TEST_CASE("a path is on the file system that is mounted nearest above it, the last one mounted") {
  const std::vector<Mount> mounts = parse_mounts(kMounts);
  REQUIRE(mounts.size() == 5);
  CHECK(mount_of("/home/x", mounts)->source == "/dev/vda");
  CHECK(mount_of("/data sets/train.tnd", mounts)->type == "nfs4");
  CHECK(mount_of("/data setsX", mounts)->type == "ext4");
  CHECK(mount_of("/data sets/local", mounts)->type == "btrfs");
  CHECK(mount_of("/data sets/local/a", mounts)->major == 8);
  CHECK_FALSE(mount_of("/home", {}));
  CHECK(is_network_file_system("nfs4"));
  CHECK(is_network_file_system("fuse.s3fs"));
  CHECK_FALSE(is_network_file_system("ext4"));
}

TEST_CASE("any bytes are lines, lists and mounts, or none") {
  Random random({.seed = test_seed()}, 1);
  const std::string alphabet = std::string("0123456789-,:/ \\\n\tabc\xff", 22) + '\0';
  for (int i = 0; i < 2000; ++i) {
    std::string text;
    for (int n = between(random, 0, 80); n > 0; --n)
      text += alphabet[random.below(alphabet.size())];
    if (const auto cpus = parse_cpu_list(text)) CHECK(cpus->size() <= kMaxCpus);
    std::string mounts = kMounts;  // with a few bytes changed
    for (int n = 0; n < 4; ++n)
      mounts[random.below(mounts.size())] = alphabet[random.below(alphabet.size())];
    for (const Mount& mount : parse_mounts(mounts + text)) CHECK(mount.point[0] == '/');
    std::size_t bytes = 0;
    for (const std::string_view line : lines_of(text)) bytes += line.size();
    CHECK(bytes <= text.size());
  }
}

}  // namespace
}  // namespace tundish
