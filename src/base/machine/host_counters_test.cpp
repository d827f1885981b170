#include "base/machine/host_counters.h"

#include <doctest/doctest.h>

#include "base/temporary_folder.h"
#include "base/testing.h"

namespace tundish {
namespace {

TEST_CASE("CPU time is read, guests are not counted twice") {
  const auto time = parse_cpu_time("cpu  100 1 50 800 40 3 4 2 60 7\ncpu0 1 1 1 1\n");
  REQUIRE(time);
  CHECK(time->all == 1000);
  CHECK(time->idle == 840);
  CHECK(time->waiting == 40);
  for (const char* text : {"", "cpu", "cpu 1 2 3", "cpu0 1 2 3 4", "cpu 1 2 x 4",
                           "cpu 18446744073709551615 18446744073709551615 1 1"}) {
    CHECK_FALSE(parse_cpu_time(text));
  }
}

TEST_CASE("disks are read, and lines that are none are left out") {
  const auto disks = parse_disks(
      " 254       0 vda 10 0 2000 5 7 0 800 6 0 33 11 0 0 0 0\n 8 0\nx\n 1 1 sda a b c d e f g h i "
      "j k\n");
  REQUIRE(disks.size() == 2);
  CHECK(disks[0].name == "vda");
  CHECK(disks[0].reads == 10);
  CHECK(disks[0].read_sectors == 2000);
  CHECK(disks[0].writes == 7);
  CHECK(disks[0].written_sectors == 800);
  CHECK(disks[0].busy_ms == 33);
  CHECK(disks[1].reads == 0);
}

TEST_CASE("the host and its group are read in both versions of control groups") {
  const TemporaryFolder folder;
  const SystemRoots roots{
      .proc = folder / "proc", .sys = folder / "sys", .groups = folder / "groups", .dev = ""};
  folder.write("proc/stat", "cpu 1 1 1 1 1\n");
  folder.write("proc/meminfo", "MemTotal: 4 kB\nMemAvailable: 3 kB\nCached: 2 kB\n");
  folder.write("proc/diskstats",
               "8 0 sda 1 0 2 3 4 0 5 6 0 7 8\n8 1 sda1 1 0 2 3 4 0 5 6 0 7 8\n7 0 loop0 1 0 2 3 4 "
               "0 5 6 0 7 8\n8 16 ../x 1 0 2 3 4 0 5 6 0 7 8\n");
  folder.write("sys/block/sda/size", "1");
  folder.write("sys/block/loop0/size", "1");
  folder.write("proc/self/cgroup", "0::/job\n");
  folder.write("groups/job/cpu.stat", "usage_usec 5\n");
  folder.write("groups/job/memory.current", "100\n");
  folder.write("groups/job/memory.max", "200\n");
  HostCounters host = read_host_counters(roots);
  CHECK(host.at_ns > 0);
  CHECK(host.cpu->all == 5);
  CHECK(host.memory_total == 4096);
  CHECK(host.page_cache == 2048);
  REQUIRE(host.disks.size() == 1);
  CHECK(host.disks[0].name == "sda");
  CHECK(host.group.cpu_ns == std::uint64_t{5000});
  CHECK(host.group.memory_used == std::uint64_t{100});
  CHECK(host.group.memory_limit == std::uint64_t{200});
  folder.write("proc/self/cgroup", "2:cpuacct:/a\n3:memory:/a\n");
  folder.write("groups/cpuacct/a/cpuacct.usage", "77\n");
  folder.write("groups/memory/a/memory.usage_in_bytes", "9\n");
  folder.write("groups/memory/a/memory.limit_in_bytes", "9223372036854771712\n");
  host = read_host_counters(roots);
  CHECK(host.group.cpu_ns == std::uint64_t{77});
  CHECK(host.group.memory_used == std::uint64_t{9});
  CHECK_FALSE(host.group.memory_limit);
}

TEST_CASE("any bytes are counters or none") {
  Random random({.seed = test_seed()}, 4);
  const std::string alphabet = std::string("cpu 0123456789\n\tsda\xff/-", 22) + '\0';
  for (int i = 0; i < 2000; ++i) {
    std::string text = random.below(2) ? "cpu " : "8 0 sda 1 ";
    for (int n = between(random, 0, 60); n > 0; --n)
      text += alphabet[random.below(alphabet.size())];
    if (const auto time = parse_cpu_time(text)) CHECK(time->idle <= time->all);
    for (const DiskCounters& disk : parse_disks(text)) CHECK(disk.name.size() <= 64);
  }
}

}  // namespace
}  // namespace tundish
